(comment) @attached
(decorator) @attached
(export_statement) @wrapper
(ambient_declaration) @wrapper

(class_declaration name: (type_identifier) @name) @definition.class
(abstract_class_declaration name: (type_identifier) @name) @definition.class
(interface_declaration name: (type_identifier) @name) @definition.interface
(type_alias_declaration name: (type_identifier) @name) @definition.type
(enum_declaration name: (identifier) @name) @definition.enum
(internal_module name: (_) @name) @definition.module
(module name: (_) @name) @definition.module
(function_declaration name: (identifier) @name) @definition.function
(generator_function_declaration name: (identifier) @name) @definition.function
(function_signature name: (identifier) @name) @definition.function
(method_definition name: (_) @name) @definition.method
(method_signature name: (_) @name) @definition.method
(abstract_method_signature name: (_) @name) @definition.method
(public_field_definition name: (_) @name) @definition.field
(property_signature name: (_) @name) @definition.field
(variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function)]) @definition.function
(variable_declarator name: (identifier) @name value: (class)) @definition.class
(program (lexical_declaration (variable_declarator name: (identifier) @name) @definition.constant))
(program (variable_declaration (variable_declarator name: (identifier) @name) @definition.constant))
(export_statement (lexical_declaration (variable_declarator name: (identifier) @name) @definition.constant))
(ambient_declaration (lexical_declaration (variable_declarator name: (identifier) @name) @definition.constant))
(pair key: [(property_identifier) (string)] @name
  value: [(arrow_function) (function_expression) (generator_function)]) @definition.method
(assignment_expression left: (member_expression object: (_) @scope property: (property_identifier) @name)
  right: [(arrow_function) (function_expression) (class) (generator_function)]) @definition.function
(arguments (function_expression name: (identifier) @name) @definition.function)
(return_statement (function_expression name: (identifier) @name) @definition.function)
(export_statement "default" @name
  value: [(arrow_function) (function_expression) (class) (object) (call_expression)]) @definition.module

(call_expression function: (identifier) @reference.call)
(call_expression function: (member_expression property: (property_identifier) @reference.call))
(new_expression constructor: (identifier) @reference.call)
(extends_clause value: (identifier) @reference.inherit)
(extends_clause value: (member_expression property: (property_identifier) @reference.inherit))
(implements_clause (type_identifier) @reference.inherit)
(extends_type_clause type: (type_identifier) @reference.inherit)
(type_identifier) @reference.type
(type_parameter name: (type_identifier) @parameter)
(import_specifier name: (identifier) @reference.import)
(import_clause (identifier) @reference.import)
(export_statement (export_clause (export_specifier name: (identifier) @reference.import)) source: (string))
; names that are read; the extraction keeps those that may be a definition of the repository
(expression/identifier) @reference.value
(primary_expression/identifier) @reference.value
(member_expression property: (property_identifier) @reference.value)
(shorthand_property_identifier) @reference.value
(export_specifier name: (identifier) @reference.value)
(type_query (identifier) @reference.value)
(nested_type_identifier module: (identifier) @reference.value)
