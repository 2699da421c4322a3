(comment) @attached

(program (binary_operator lhs: (identifier) @name operator: ["<-" "=" "<<-"]
  rhs: (function_definition)) @definition.function)
(program (binary_operator lhs: (string content: (_) @name) operator: ["<-" "="]
  rhs: (function_definition)) @definition.function)
(program (binary_operator lhs: (identifier) @name operator: ["<-" "=" "<<-"]) @definition.variable)
(braced_expression (binary_operator lhs: (identifier) @name operator: ["<-" "="]
  rhs: (function_definition)) @definition.function)
(program (binary_operator lhs: (identifier) @name operator: ["<-" "="] rhs: (call function: (identifier) @_define)) @definition.class
  (#any-of? @_define "setClass" "setRefClass" "R6Class"))
(program (call function: (identifier) @_define
  arguments: (arguments . argument: (argument value: (string content: (string_content) @name)))
  (#any-of? @_define "setClass" "setRefClass" "R6Class")) @definition.class)
(call function: (identifier) @_define
  arguments: (arguments . argument: (argument value: (string content: (string_content) @name)))
  (#any-of? @_define "setGeneric" "setMethod" "setValidity")) @definition.method
(argument name: (identifier) @name value: (function_definition)) @definition.method

(call function: (identifier) @reference.call)
(call function: (namespace_operator rhs: (identifier) @reference.call))
(call function: (extract_operator rhs: (identifier) @reference.call))
