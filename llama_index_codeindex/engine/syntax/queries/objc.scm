(comment) @attached

(class_interface . (identifier) @name) @definition.class
(class_implementation . (identifier) @name) @definition.class
(protocol_declaration . (identifier) @name) @definition.interface
(method_declaration (method_type) . (identifier) @name) @definition.method
(method_definition (method_type) . (identifier) @name) @definition.method
(property_declaration (struct_declaration (struct_declarator (identifier) @name))) @definition.property
(property_declaration (struct_declaration (struct_declarator (pointer_declarator declarator: (identifier) @name)))) @definition.property
(function_definition declarator: (function_declarator declarator: (identifier) @name)) @definition.function
(function_definition
  declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))) @definition.function
(declaration declarator: (function_declarator declarator: (identifier) @name)) @definition.prototype
(declaration
  declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))) @definition.prototype
(struct_specifier name: (type_identifier) @name body: (_)) @definition.struct
(enum_specifier name: (type_identifier) @name body: (_)) @definition.enum
(type_definition declarator: (type_identifier) @name) @definition.type
(type_definition declarator: (function_declarator declarator: (parenthesized_declarator
  [(block_pointer_declarator declarator: (type_identifier) @name)
   (pointer_declarator declarator: (type_identifier) @name)]))) @definition.type
(type_definition declarator: (pointer_declarator declarator: (function_declarator declarator: (parenthesized_declarator
  [(block_pointer_declarator declarator: (type_identifier) @name)
   (pointer_declarator declarator: (type_identifier) @name)])))) @definition.type
(enumerator name: (identifier) @name) @definition.constant
(preproc_def name: (identifier) @name) @definition.macro
(preproc_function_def name: (identifier) @name) @definition.macro
(translation_unit (declaration declarator: (init_declarator declarator: (identifier) @name)) @definition.variable)
(translation_unit (declaration declarator: (init_declarator
  declarator: (pointer_declarator declarator: (identifier) @name))) @definition.variable)

(message_expression method: (identifier) @reference.call)
(call_expression function: (identifier) @reference.call)
(class_interface superclass: (identifier) @reference.inherit)
(type_identifier) @reference.type
