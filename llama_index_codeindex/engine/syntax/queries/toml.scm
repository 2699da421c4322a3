(comment) @attached

(document (table . (_) @name) @definition.key)
(document (table_array_element . (_) @name) @definition.key)
(document (pair . (_) @name) @definition.key)
