(line_comment) @attached
(block_comment) @attached
(module_definition (block (string_literal) @attached))
(source_file (string_literal) @attached)

(module_definition name: (identifier) @name) @definition.module
(abstract_definition (type_head (identifier) @name)) @definition.type
(abstract_definition (type_head (binary_expression . (identifier) @name))) @definition.type
(struct_definition (type_head (identifier) @name)) @definition.struct
(struct_definition (type_head (binary_expression . (identifier) @name))) @definition.struct
(struct_definition (type_head (binary_expression . (parametrized_type_expression . (identifier) @name)))) @definition.struct
(struct_definition (type_head (parametrized_type_expression . (identifier) @name))) @definition.struct
(function_definition (signature (identifier) @name)) @definition.function
(function_definition (signature [
  (call_expression . [(identifier) (operator)] @name)
  (where_expression . (call_expression . [(identifier) (operator)] @name))
  (typed_expression . (call_expression . [(identifier) (operator)] @name))
  (where_expression . (typed_expression . (call_expression . [(identifier) (operator)] @name)))])) @definition.function
(function_definition (signature [
  (call_expression . (field_expression value: (_) @scope (identifier) @name .))
  (where_expression . (call_expression . (field_expression value: (_) @scope (identifier) @name .)))
  (typed_expression . (call_expression . (field_expression value: (_) @scope (identifier) @name .)))
  (where_expression . (typed_expression . (call_expression . (field_expression value: (_) @scope (identifier) @name .))))])) @definition.function
(function_definition (signature [
  (call_expression . (field_expression value: (_) @scope (quote_expression [(operator) @name (parenthesized_expression (operator) @name)])))
  (where_expression . (call_expression . (field_expression value: (_) @scope (quote_expression [(operator) @name (parenthesized_expression (operator) @name)]))))
  (typed_expression . (call_expression . (field_expression value: (_) @scope (quote_expression [(operator) @name (parenthesized_expression (operator) @name)]))))
  (where_expression . (typed_expression . (call_expression . (field_expression value: (_) @scope (quote_expression [(operator) @name (parenthesized_expression (operator) @name)])))))])) @definition.function
(function_definition (signature [
  (call_expression . (parametrized_type_expression . [(identifier) @name (field_expression value: (_) @scope (identifier) @name .)]))
  (where_expression . (call_expression . (parametrized_type_expression . [(identifier) @name (field_expression value: (_) @scope (identifier) @name .)])))
  (typed_expression . (call_expression . (parametrized_type_expression . [(identifier) @name (field_expression value: (_) @scope (identifier) @name .)])))
  (where_expression . (typed_expression . (call_expression . (parametrized_type_expression . [(identifier) @name (field_expression value: (_) @scope (identifier) @name .)]))))])) @definition.function
(macro_definition (signature (call_expression . (identifier) @name))) @definition.macro
(assignment . [
  (call_expression . [(identifier) (operator)] @name)
  (where_expression . (call_expression . [(identifier) (operator)] @name))
  (typed_expression . (call_expression . [(identifier) (operator)] @name))
  (where_expression . (typed_expression . (call_expression . [(identifier) (operator)] @name)))]) @definition.function
(assignment . [
  (call_expression . (field_expression value: (_) @scope (identifier) @name .))
  (where_expression . (call_expression . (field_expression value: (_) @scope (identifier) @name .)))
  (typed_expression . (call_expression . (field_expression value: (_) @scope (identifier) @name .)))
  (where_expression . (typed_expression . (call_expression . (field_expression value: (_) @scope (identifier) @name .))))]) @definition.function
(assignment . [
  (call_expression . (field_expression value: (_) @scope (quote_expression [(operator) @name (parenthesized_expression (operator) @name)])))
  (where_expression . (call_expression . (field_expression value: (_) @scope (quote_expression [(operator) @name (parenthesized_expression (operator) @name)]))))
  (typed_expression . (call_expression . (field_expression value: (_) @scope (quote_expression [(operator) @name (parenthesized_expression (operator) @name)]))))
  (where_expression . (typed_expression . (call_expression . (field_expression value: (_) @scope (quote_expression [(operator) @name (parenthesized_expression (operator) @name)])))))]) @definition.function
(assignment . [
  (call_expression . (parametrized_type_expression . [(identifier) @name (field_expression value: (_) @scope (identifier) @name .)]))
  (where_expression . (call_expression . (parametrized_type_expression . [(identifier) @name (field_expression value: (_) @scope (identifier) @name .)])))
  (typed_expression . (call_expression . (parametrized_type_expression . [(identifier) @name (field_expression value: (_) @scope (identifier) @name .)])))
  (where_expression . (typed_expression . (call_expression . (parametrized_type_expression . [(identifier) @name (field_expression value: (_) @scope (identifier) @name .)]))))]) @definition.function
(const_statement (assignment . (identifier) @name)) @definition.constant

(call_expression . (identifier) @reference.call)
(call_expression . (field_expression (identifier) @reference.call .))
(macrocall_expression (macro_identifier (identifier) @reference.call))
(typed_expression (identifier) @reference.type .)
