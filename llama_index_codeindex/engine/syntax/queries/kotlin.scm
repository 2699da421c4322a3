(line_comment) @attached
(multiline_comment) @attached
(source_file (prefix_expression (annotation)) @attached)

(class_declaration "interface" (type_identifier) @name) @definition.interface
(class_declaration "enum" (type_identifier) @name) @definition.enum
(class_declaration "class" (type_identifier) @name) @definition.class
; the head of a class whose body the grammar cannot close
(ERROR "class" @definition.class . [(type_identifier) (simple_identifier)] @name)
(object_declaration (type_identifier) @name) @definition.object
(companion_object (type_identifier) @name) @definition.object
(companion_object) @container
(function_declaration (simple_identifier) @name) @definition.function
(function_declaration receiver: (receiver_type) @scope (simple_identifier) @name) @definition.function
(secondary_constructor "constructor" @name) @definition.constructor
(type_alias (type_identifier) @name) @definition.type
(source_file (property_declaration (variable_declaration (simple_identifier) @name)) @definition.constant)
(property_declaration receiver: (receiver_type) @scope (variable_declaration (simple_identifier) @name)) @definition.property
(class_parameter (binding_pattern_kind) (simple_identifier) @name) @definition.field
(class_body (property_declaration (variable_declaration (simple_identifier) @name)) @definition.field)
(enum_class_body (property_declaration (variable_declaration (simple_identifier) @name)) @definition.field)
(enum_entry (simple_identifier) @name) @definition.constant

(call_expression (simple_identifier) @reference.call)
(call_expression (navigation_expression (navigation_suffix (simple_identifier) @reference.call)))
(constructor_invocation (user_type (type_identifier) @reference.inherit))
(delegation_specifier (user_type (type_identifier) @reference.inherit))
(user_type (type_identifier) @reference.type)
(import_header (identifier (simple_identifier) @reference.import .))
