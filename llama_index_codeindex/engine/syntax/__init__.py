"""Text to symbols, references, chunks and words.

To add a language: add a row to the table in `languages`, and a file `queries/GRAMMAR.scm` in the tags convention:

- `@definition.KIND` on a definition with `@name` inside it (or two, the first and the last of a name such as
  `operator +`), and `@scope` where the definition itself names what it belongs to (a Go receiver, `M.f = function`);
- `@container` with `@name` for what gives a scope but is no definition (a Rust `impl`, a Swift extension);
- `@attached` for comments, decorators and attributes that belong to the definition on the next line;
- `@wrapper` for a node around a definition that ends with it (`decorated_definition`, `template_declaration`);
- `@reference.call`, `.type`, `.import` and `.inherit` on the name that is used.

Where a grammar stumbles over correct code, `blanking` may hide what it cannot read. A sample under `tests/syntax/samples`
pins the exact symbols.

Captures that start with an underscore only serve predicates. A first line `; inherits: GRAMMAR` takes over that one's patterns.
"""
