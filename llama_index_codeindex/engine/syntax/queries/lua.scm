(comment) @attached

(function_declaration name: (identifier) @name) @definition.function
(function_declaration name: (dot_index_expression table: (_) @scope field: (identifier) @name)) @definition.function
(function_declaration name: (method_index_expression table: (_) @scope method: (identifier) @name)) @definition.method
(assignment_statement
  (variable_list . name: (identifier) @name)
  (expression_list . value: (function_definition))) @definition.function
(assignment_statement
  (variable_list . name: (dot_index_expression table: (_) @scope field: (identifier) @name))
  (expression_list . value: (function_definition))) @definition.function
(assignment_statement
  (variable_list . name: (bracket_index_expression table: (_) @scope field: (string content: (_) @name)))
  (expression_list . value: (function_definition))) @definition.function
(field name: (identifier) @name value: (function_definition)) @definition.method
(field name: (string content: (_) @name) value: (function_definition)) @definition.method
(chunk (assignment_statement (variable_list name: (identifier) @name)) @definition.variable)
(chunk (assignment_statement
  (variable_list name: (dot_index_expression table: (_) @scope field: (identifier) @name))) @definition.variable)
(chunk (variable_declaration (assignment_statement (variable_list name: (identifier) @name))) @definition.variable)

(function_call name: (identifier) @reference.call)
(function_call name: (dot_index_expression field: (identifier) @reference.call))
(function_call name: (method_index_expression method: (identifier) @reference.call))
