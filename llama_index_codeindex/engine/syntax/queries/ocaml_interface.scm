(comment) @attached

(module_definition (module_binding (module_name) @name)) @definition.module
(module_type_definition (module_type_name) @name) @definition.interface
(value_specification (value_name) @name) @definition.function
(external (value_name) @name) @definition.function
(type_definition (type_binding name: (type_constructor) @name)) @definition.type
(variant_declaration (constructor_declaration (constructor_name) @name) @definition.constructor)
(field_declaration (field_name) @name) @definition.field
(exception_definition (constructor_declaration (constructor_name) @name)) @definition.type
(class_definition (class_binding (class_name) @name)) @definition.class
(class_type_definition (class_type_binding (class_type_name) @name)) @definition.interface
(method_specification (method_name) @name) @definition.method

(type_constructor_path (type_constructor) @reference.type)
