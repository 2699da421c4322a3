(comment) @attached
(documentation_comment) @attached
(annotation) @attached

(class_definition name: (identifier) @name) @definition.class
(mixin_declaration (identifier) @name) @definition.class
(extension_declaration name: (identifier) @name) @definition.class
(extension_type_declaration name: (identifier) @name) @definition.class
(enum_declaration name: (identifier) @name) @definition.enum
(enum_constant name: (identifier) @name) @definition.constant
(type_alias (type_identifier) @name . (type_parameters)? . ["=" (formal_parameter_list)]) @definition.type
(local_function_declaration (lambda_expression parameters: (function_signature name: (identifier) @name)))
  @definition.function
(program (function_signature name: (identifier) @name) @definition.function . (function_body)? @body)
(program (getter_signature name: (identifier) @name) @definition.function . (function_body)? @body)
((method_signature (function_signature name: (identifier) @name)) @definition.method . (function_body)? @body)
((method_signature (getter_signature name: (identifier) @name)) @definition.method . (function_body)? @body)
((method_signature (setter_signature name: (identifier) @name)) @definition.method . (function_body)? @body)
((method_signature (constructor_signature name: (identifier) @name . (formal_parameter_list))) @definition.constructor . (function_body)? @body)
((method_signature (factory_constructor_signature (identifier) @name . (formal_parameter_list))) @definition.constructor . (function_body)? @body)
((method_signature (operator_signature (binary_operator) @name)) @definition.method . (function_body)? @body)
(declaration (constructor_signature name: (identifier) @name . (formal_parameter_list))) @definition.constructor
(declaration (constant_constructor_signature (identifier) @name . (formal_parameter_list))) @definition.constructor
(declaration (factory_constructor_signature (identifier) @name . (formal_parameter_list))) @definition.constructor
(declaration (redirecting_factory_constructor_signature (identifier) @name . (formal_parameter_list))) @definition.constructor
(declaration (function_signature name: (identifier) @name)) @definition.method
(declaration (getter_signature name: (identifier) @name)) @definition.method
(class_body (declaration (initialized_identifier_list (initialized_identifier (identifier) @name)) @definition.field))
(class_body (declaration (static_final_declaration_list (static_final_declaration (identifier) @name)) @definition.field))
(program (static_final_declaration_list (static_final_declaration (identifier) @name)) @definition.constant)
(program (initialized_identifier_list (initialized_identifier (identifier) @name)) @definition.constant)

(superclass (type_identifier) @reference.inherit)
(interfaces (type_identifier) @reference.inherit)
(mixins (type_identifier) @reference.inherit)
(type_identifier) @reference.type
((identifier) @reference.call . (selector (argument_part)))
((selector (unconditional_assignable_selector (identifier) @reference.call)) . (selector (argument_part)))
