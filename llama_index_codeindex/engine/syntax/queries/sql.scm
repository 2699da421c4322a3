(comment) @attached
(marginalia) @attached

(create_table (object_reference name: (identifier) @name)) @definition.table
(create_view (object_reference name: (identifier) @name)) @definition.view
(create_materialized_view (object_reference name: (identifier) @name)) @definition.view
(create_function (keyword_function) . (object_reference name: (identifier) @name)) @definition.function
; the head of a function whose body the grammar cannot read
(ERROR (keyword_function) @definition.function . (object_reference name: (identifier) @name) . (function_arguments))
(create_trigger . (keyword_create) (object_reference name: (identifier) @name)) @definition.function
(create_type (object_reference name: (identifier) @name)) @definition.type
(create_index column: (identifier) @name) @definition.index
(create_schema (identifier) @name) @definition.namespace
(create_sequence (object_reference name: (identifier) @name)) @definition.table
(column_definition name: (identifier) @name) @definition.field
(alter_table (object_reference name: (identifier) @reference.type))
(relation (object_reference name: (identifier) @reference.type))
(insert (object_reference name: (identifier) @reference.type))
(invocation (object_reference name: (identifier) @reference.call))
