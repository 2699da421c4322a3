(comment) @attached
(unary_operator operator: "@" operand: (call target: (identifier) @_attribute
  (#any-of? @_attribute "doc" "moduledoc" "spec" "impl" "deprecated" "since" "typedoc"))) @attached

(call target: (identifier) @_keyword (arguments . (alias) @name) (do_block)
  (#any-of? @_keyword "defmodule" "defprotocol")) @definition.module
(call target: (identifier) @_keyword (arguments . (alias) @name) (do_block)
  (#eq? @_keyword "defimpl")) @container
(call target: (identifier) @_keyword
  (arguments . [
    (identifier) @name
    (call target: (identifier) @name)
    (binary_operator left: (call target: (identifier) @name))
    (binary_operator left: (identifier) @name operator: "when")])
  (#any-of? @_keyword "def" "defp" "defdelegate" "defguard" "defguardp" "defn" "defnp")) @definition.function
; any operator: a list of them is tried at every call of the file, and takes as long as all other patterns together
(call target: (identifier) @_keyword
  (arguments . [
    (binary_operator operator: _ @name)
    (binary_operator left: (binary_operator operator: _ @name) operator: "when")])
  (#any-of? @_keyword "def" "defp" "defmacro" "defmacrop")
  (#not-eq? @name "when")) @definition.function
(call target: (identifier) @_keyword
  (arguments . [(identifier) @name (call target: (identifier) @name)
    (binary_operator left: (call target: (identifier) @name))])
  (#any-of? @_keyword "defmacro" "defmacrop")) @definition.macro
(unary_operator operator: "@" operand: (call target: (identifier) @_keyword
  (arguments (binary_operator left: [(identifier) @name (call target: (identifier) @name)]))
  (#any-of? @_keyword "type" "typep" "opaque"))) @definition.type
(unary_operator operator: "@" operand: (call target: (identifier) @_keyword
  (arguments (binary_operator left: [
    (identifier) @name
    (call target: (identifier) @name)
    (binary_operator left: [(identifier) @name (call target: (identifier) @name)])]))
  (#any-of? @_keyword "callback" "macrocallback"))) @definition.method

(call target: (identifier) @reference.call)
(call target: (dot right: (identifier) @reference.call))
(call target: (dot left: (alias) @reference.type))
(call target: (identifier) @_keyword (arguments . (alias) @reference.import)
  (#any-of? @_keyword "alias" "import" "require"))
(call target: (identifier) @_keyword (arguments . (alias) @reference.inherit)
  (#any-of? @_keyword "use" "defimpl"))
