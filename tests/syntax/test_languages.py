"""Which language a file is in."""

from __future__ import annotations

from importlib.resources import files

import pytest

from llama_index_codeindex.engine.syntax.languages import BY_NAME, LANGUAGES, detect
from llama_index_codeindex.engine.syntax.parsing import tags_query


@pytest.mark.parametrize(
    ("path", "text", "language"),
    [
        ("a.py", "", "python"),
        ("A.PY", "", "python"),
        ("a.mjs", "", "javascript"),
        ("b.cc", "", "cpp"),
        ("c.h", "int f(void);\n", "c"),
        ("c.h", "class Box {};\n", "cpp"),
        ("c.h", "namespace a {\n}\n", "cpp"),
        ("c.h", "#import <Foundation/Foundation.h>\n@interface A\n@end\n", "objc"),
        ("m.m", "@implementation A\n@end\n", "objc"),
        ("m.m", "function y = f(x)\n% MATLAB\nend\n", "text"),
        ("d.ts", '<?xml version="1.0"?>\n<TS></TS>\n', "xml"),
        ("d.ts", "const a = 1;\n", "typescript"),
        ("v1.2/Makefile", "", "make"),
        ("a.d/notes", "", "text"),
        ("deploy/Dockerfile.dev", "", "dockerfile"),
        ("Makefile.am", "", "make"),
        ("bin/run", "#!/usr/bin/env python3\n", "python"),
        ("bin/run", "#!/usr/bin/env -S FOO=1 node --x\n", "javascript"),
        ("bin/run", "#! /bin/bash -e\n", "bash"),
        ("bin/run", "#!/opt/unheard-of\n", "text"),
        ("Gemfile", "", "ruby"),
        ("t/basic.t", "use strict;\n", "perl"),
        ("t/basic.t", "words\n", "text"),
        (".bashrc", "", "bash"),
        ("LICENSE", "", "text"),
        ("", "", "text"),
    ],
)
def test_the_language_of_a_file(path: str, text: str, language: str) -> None:
    assert detect(path, text).name == language


def test_no_suffix_and_no_name_belongs_to_two_languages() -> None:
    for part in ("suffixes", "names", "shebangs"):
        claimed = [item for language in LANGUAGES for item in getattr(language, part)]
        assert sorted(set(claimed)) == sorted(claimed)


def test_every_query_has_a_language_and_compiles() -> None:
    folder = files("llama_index_codeindex.engine.syntax") / "queries"
    queries = {entry.name.removesuffix(".scm") for entry in folder.iterdir()}
    grammars = {language.grammar for language in LANGUAGES if language.grammar}
    assert queries == grammars
    for grammar in sorted(grammars):
        query = tags_query(grammar)
        assert query.query.pattern_count > 0


def test_at_least_the_promised_languages_have_grammars() -> None:
    promised = (
        "python javascript typescript tsx go java kotlin csharp rust php ruby swift scala dart c cpp objc lua elixir haskell "
        "zig bash sql ocaml julia r perl vue svelte json yaml toml"
    ).split()
    assert [name for name in promised if not BY_NAME[name].grammar] == []
