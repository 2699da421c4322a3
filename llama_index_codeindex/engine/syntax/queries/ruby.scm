(comment) @attached

(module name: (constant) @name) @definition.module
(module name: (scope_resolution) @name) @definition.module
(class name: (constant) @name) @definition.class
(class name: (scope_resolution) @name) @definition.class
(singleton_class) @container
(method name: (_) @name) @definition.method
(singleton_method name: (_) @name) @definition.method
(assignment left: (constant) @name) @definition.constant
(alias name: (_) @name) @definition.method
(call method: (identifier) @_macro
  arguments: (argument_list . (simple_symbol) @name)
  (#any-of? @_macro "define_method" "alias_method" "scope" "delegate"
   "has_many" "has_one" "belongs_to" "enum" "helper_method" "task" "let")) @definition.method
(call method: (identifier) @_macro arguments: (argument_list (simple_symbol) @name @definition.method)
  (#any-of? @_macro "attr_accessor" "attr_reader" "attr_writer"))
(call receiver: (constant) @_factory method: (identifier) @_new
  (#any-of? @_factory "Struct" "Class" "Module" "Data")) @_made

(call method: (identifier) @reference.call)
(call method: (constant) @reference.call)
(superclass (constant) @reference.inherit)
(superclass (scope_resolution name: (constant) @reference.inherit))
(call method: (identifier) @_mixin arguments: (argument_list (constant) @reference.inherit)
  (#any-of? @_mixin "include" "extend" "prepend"))
(call receiver: (constant) @reference.type)
(scope_resolution name: (constant) @reference.type)
