(comment) @attached
(decorated_definition) @wrapper

(class_definition name: (identifier) @name) @definition.class
(function_definition name: (identifier) @name) @definition.function
(type_alias_statement left: (type (identifier) @name)) @definition.type

(module (assignment left: (identifier) @name) @definition.constant)
(module (assignment left: (pattern_list (identifier) @name)) @definition.constant)
(class_definition body: (block (assignment left: (identifier) @name) @definition.field))
; names that a module binds only under a condition or in a try block
(module [
  (if_statement (block (assignment left: (identifier) @name) @definition.constant))
  (try_statement (block (assignment left: (identifier) @name) @definition.constant))])
; what is left of a declaration in Cython
(assignment left: (identifier) @name type: (type (integer))) @definition.prototype
(module (nonlocal_statement (identifier) @name) @definition.type)
(module (if_statement (block (nonlocal_statement (identifier) @name) @definition.type)))

(call function: (identifier) @reference.call)
(call function: (attribute attribute: (identifier) @reference.call))
(decorator (identifier) @reference.call)
(decorator (attribute attribute: (identifier) @reference.call))
(class_definition superclasses: (argument_list (identifier) @reference.inherit))
(class_definition superclasses: (argument_list (attribute attribute: (identifier) @reference.inherit)))
(type (identifier) @reference.type)
(type (generic_type (identifier) @reference.type))
(import_from_statement name: (dotted_name (identifier) @reference.import .))
(import_from_statement name: (aliased_import name: (dotted_name (identifier) @reference.import .)))
(import_statement name: (dotted_name (identifier) @reference.import .))
(class_definition superclasses: (argument_list (subscript value: (identifier) @reference.inherit)))
(class_definition superclasses: (argument_list (keyword_argument value: (identifier) @reference.inherit)))
(type (attribute attribute: (identifier) @reference.type))
(type (subscript value: (identifier) @reference.type))
(type (binary_operator (identifier) @reference.type))
(type_parameter (type (identifier) @reference.type))
; names that are read; the extraction keeps those that may be a definition of the repository
(primary_expression/identifier) @reference.value
(attribute attribute: (identifier) @reference.value)
