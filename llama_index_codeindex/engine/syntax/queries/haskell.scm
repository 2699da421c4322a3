(comment) @attached
(haddock) @attached
(pragma) @attached

(data_type name: (name) @name) @definition.type
(newtype name: (name) @name) @definition.type
(type_synomym name: (name) @name) @definition.type
(type_family name: (name) @name) @definition.type
(data_family name: (name) @name) @definition.type
(class name: (name) @name) @definition.class
(instance name: (name) @name) @container
(data_constructor constructor: (prefix name: (constructor) @name)) @definition.constructor
(data_constructor constructor: (record name: (constructor) @name)) @definition.constructor
(newtype_constructor name: (constructor) @name) @definition.constructor
(field name: (field_name (variable) @name)) @definition.field
(declarations (signature name: (variable) @name) @definition.function)
(declarations (signature names: (binding_list name: (variable) @name)) @definition.function)
(declarations (signature name: (prefix_id (operator) @name)) @definition.function)
(declarations (function name: (variable) @name) @definition.function)
(declarations (function name: (prefix_id (operator) @name)) @definition.function)
(declarations (function (infix operator: (operator) @name)) @definition.function)
(declarations (bind name: (variable) @name) @definition.function)
(class_declarations (signature name: (variable) @name) @definition.method)
(class_declarations (signature names: (binding_list name: (variable) @name)) @definition.method)
(class_declarations (signature name: (prefix_id (operator) @name)) @definition.method)
(class_declarations (default_signature (signature name: (variable) @name)) @definition.method)
(instance_declarations (function name: (variable) @name) @definition.method)
(instance_declarations (bind name: (variable) @name) @definition.method)
(pattern_synonym (equation synonym: (apply function: (constructor) @name))) @definition.constant

(apply function: (variable) @reference.call)
(apply function: (constructor) @reference.call)
(apply function: (qualified (variable) @reference.call))
(name) @reference.type
(instance name: (name) @reference.inherit)
(import names: (import_list name: (import_name variable: (variable) @reference.import)))
(import names: (import_list name: (import_name type: (name) @reference.import)))
