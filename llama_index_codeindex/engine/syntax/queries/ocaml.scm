(comment) @attached

(module_definition (module_binding (module_name) @name)) @definition.module
(module_type_definition (module_type_name) @name) @definition.interface
(compilation_unit (value_definition (let_binding pattern: (value_name) @name) @definition.function))
(structure (value_definition (let_binding pattern: (value_name) @name) @definition.function))
(value_definition (let_binding pattern: (parenthesized_operator) @name)) @definition.function
(value_specification (value_name) @name) @definition.function
(external (value_name) @name) @definition.function
(type_definition (type_binding name: (type_constructor) @name)) @definition.type
(variant_declaration (constructor_declaration (constructor_name) @name) @definition.constructor)
(field_declaration (field_name) @name) @definition.field
(class_definition (class_binding (class_name) @name)) @definition.class
(class_type_definition (class_type_binding (class_type_name) @name)) @definition.interface
(method_specification (method_name) @name) @definition.method
(method_definition (method_name) @name) @definition.method
(exception_definition (constructor_declaration (constructor_name) @name)) @definition.type

(application_expression function: (value_path (value_name) @reference.call))
(type_constructor_path (type_constructor) @reference.type)
(open_module module: (module_path (module_name) @reference.import))
(include_module (module_path (module_name) @reference.inherit))
