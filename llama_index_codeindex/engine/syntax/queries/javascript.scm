(comment) @attached
(decorator) @attached
(export_statement) @wrapper

(class_declaration name: (identifier) @name) @definition.class
(function_declaration name: (identifier) @name) @definition.function
(generator_function_declaration name: (identifier) @name) @definition.function
(method_definition name: (_) @name) @definition.method
(field_definition property: (_) @name) @definition.field
(variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function)]) @definition.function
(variable_declarator name: (identifier) @name value: (class)) @definition.class
(program (lexical_declaration (variable_declarator name: (identifier) @name) @definition.constant))
(program (variable_declaration (variable_declarator name: (identifier) @name) @definition.constant))
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name) @definition.constant)))
(pair key: [(property_identifier) (string)] @name
  value: [(arrow_function) (function_expression) (generator_function)]) @definition.method
(assignment_expression left: (identifier) @name
  right: [(arrow_function) (function_expression) (class)]) @definition.function
(assignment_expression left: (member_expression object: (_) @scope property: (property_identifier) @name)
  right: [(arrow_function) (function_expression) (class) (generator_function)]) @definition.function
(arguments (function_expression name: (identifier) @name) @definition.function)
(return_statement (function_expression name: (identifier) @name) @definition.function)
(export_statement "default" @name
  value: [(arrow_function) (function_expression) (class) (object) (call_expression)]) @definition.module

(call_expression function: (identifier) @reference.call)
(call_expression function: (member_expression property: (property_identifier) @reference.call))
(new_expression constructor: (identifier) @reference.call)
(new_expression constructor: (member_expression property: (property_identifier) @reference.call))
(class_heritage (identifier) @reference.inherit)
(class_heritage (member_expression property: (property_identifier) @reference.inherit))
(import_specifier name: (identifier) @reference.import)
(import_clause (identifier) @reference.import)
(jsx_opening_element name: (identifier) @reference.call)
(jsx_self_closing_element name: (identifier) @reference.call)
(export_statement (export_clause (export_specifier name: (identifier) @reference.import)) source: (string))
; names that are read; the extraction keeps those that may be a definition of the repository
(primary_expression/identifier) @reference.value
(member_expression property: (property_identifier) @reference.value)
(shorthand_property_identifier) @reference.value
(export_specifier name: (identifier) @reference.value)
