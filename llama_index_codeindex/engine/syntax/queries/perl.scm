(comment) @attached
(pod) @attached

(package_statement name: (package) @name (block)) @definition.module
(package_statement name: (package) @name !version) @definition.package
(class_statement name: (package) @name) @definition.class
(subroutine_declaration_statement name: (bareword) @name) @definition.function
(method_declaration_statement name: (bareword) @name) @definition.method
(source_file (expression_statement (assignment_expression
  left: (variable_declaration "our" variable: (_ (varname) @name)))) @definition.variable)
(use_statement module: (package) @_module (list_expression . (autoquoted_bareword) @name)
  (#eq? @_module "constant")) @definition.constant

(method_call_expression method: (method) @reference.call)
(function_call_expression function: (function) @reference.call)
(ambiguous_function_call_expression function: (function) @reference.call)
(use_statement module: (package) @_module (string_literal content: (_) @reference.inherit)
  (#any-of? @_module "parent" "base"))
(use_statement module: (package) @reference.import)
