"""The table of languages: how a file's language is told, and what the language needs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath


@dataclass(frozen=True, slots=True)
class Language:
    """One row of the table.

    Args:
        name: The name in metadata and filters.
        grammar: The grammar of the language pack, or empty for text that is cut by lines.
        suffixes: File suffixes, lower case, with the dot.
        names: Whole base names, lower case.
        shebangs: Interpreters of a `#!` line.
        separator: What stands between the parts of a qualified name.
        clauses: Whether one function may be written as several definitions in a row.
        script: Whether the code is in script blocks between other text.
        conditionals: Whether `#if` groups may hide what is defined or break the parse.
        words: Words of the language that its grammar takes for names of functions.
    """

    name: str
    grammar: str = ""
    suffixes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    shebangs: tuple[str, ...] = ()
    separator: str = "."
    clauses: bool = False
    script: bool = False
    conditionals: bool = False
    words: frozenset[bytes] = frozenset()


def _row(name: str, suffixes: str, *, names: str = "", shebangs: str = "", grammar: str | None = None,
         separator: str = ".", clauses: bool = False, script: bool = False,
         conditionals: bool = False, words: str = "") -> Language:  # fmt: skip
    return Language(
        name,
        name if grammar is None else grammar,
        tuple(suffixes.split()),
        tuple(names.split()),
        tuple(shebangs.split()),
        separator,
        clauses,
        script,
        conditionals,
        frozenset(words.encode().split()),
    )


LANGUAGES: tuple[Language, ...] = (
    _row("python", ".py .pyi .pyw .pyx .pxd", names="sconstruct sconscript wscript", shebangs="python python2 python3"),
    _row("javascript", ".js .mjs .cjs .jsx .es6", names="jakefile", shebangs="node nodejs deno bun"),
    _row("typescript", ".ts .mts .cts", clauses=True),
    _row("tsx", ".tsx", clauses=True),
    _row("go", ".go"),
    _row("java", ".java"),
    _row("kotlin", ".kt .kts"),
    _row("csharp", ".cs .csx", conditionals=True),
    _row("rust", ".rs", separator="::"),
    _row("php", ".php .phtml .php3 .php4 .php5 .php7 .phps", shebangs="php", separator="::"),
    _row(
        "ruby",
        ".rb .rake .gemspec .ru .rbw .podspec",
        names="rakefile gemfile guardfile capfile podfile vagrantfile brewfile fastfile",
        shebangs="ruby",
        separator="::",
    ),
    _row("swift", ".swift"),
    _row("scala", ".scala .sc .sbt"),
    _row("dart", ".dart"),
    _row("c", ".c .h", conditionals=True),
    _row(
        "cpp",
        ".cc .cpp .cxx .c++ .hpp .hh .hxx .h++ .ipp .inl .tpp .txx .cu .cuh .ino",
        separator="::",
        conditionals=True,
    ),
    _row("objc", ".m .mm", conditionals=True),
    _row("lua", ".lua", shebangs="lua luajit"),
    _row(
        "elixir",
        ".ex .exs",
        names="mix.lock",
        shebangs="elixir",
        clauses=True,
        words="def defp defmodule defmacro defmacrop defimpl defprotocol defstruct alias import use "
        "require if unless case cond with for quote unquote raise fn doc moduledoc spec type "
        "callback typedoc impl",
    ),
    _row("haskell", ".hs .lhs .hsc", shebangs="runhaskell", clauses=True, conditionals=True),
    _row("zig", ".zig .zon"),
    _row(
        "bash",
        ".sh .bash .zsh .ksh .bats .command",
        names=".bashrc .bash_profile .zshrc .profile .zshenv pkgbuild",
        shebangs="sh bash zsh ksh dash",
    ),
    _row("sql", ".sql .ddl .pgsql .plsql .psql"),
    _row("ocaml", ".ml"),
    _row("ocaml_interface", ".mli"),
    _row("julia", ".jl", shebangs="julia"),
    _row("r", ".r", names=".rprofile", shebangs="rscript"),
    _row("perl", ".pl .pm .t .psgi", shebangs="perl", separator="::"),
    _row("vue", ".vue", grammar="typescript", script=True),
    _row("svelte", ".svelte", grammar="typescript", script=True),
    _row("astro", ".astro", grammar="typescript", script=True),
    _row("json", ".json .jsonc .json5 .webmanifest .avsc"),
    _row("yaml", ".yaml .yml"),
    _row("toml", ".toml", names="pipfile cargo.lock poetry.lock uv.lock"),
    _row("markdown", ".md .markdown .mdx .mkd .qmd .rmd", grammar=""),
    _row("rst", ".rst", grammar=""),
    _row("asciidoc", ".adoc .asciidoc", grammar=""),
    _row("notebook", ".ipynb", grammar="python"),
    *(
        _row(name, suffixes, names=names, grammar="")
        for name, suffixes, names in (
            ("dockerfile", ".dockerfile", "dockerfile containerfile"),
            ("make", ".mk .mak", "makefile gnumakefile"),
            ("cmake", ".cmake", "cmakelists.txt"),
            ("css", ".css .scss .sass .less", ""),
            ("html", ".html .htm .xhtml .jinja .jinja2 .j2 .erb .heex .eex .hbs .mustache .twig .ejs", ""),
            ("xml", ".xml .xsd .xsl .xslt .svg .csproj .fsproj .vbproj .props .targets .plist .storyboard .xib", ""),
            ("graphql", ".graphql .gql", ""),
            ("proto", ".proto", ""),
            ("terraform", ".tf .hcl", ""),
            ("nix", ".nix", ""),
            ("clojure", ".clj .cljs .cljc .edn", ""),
            ("erlang", ".erl .hrl", ""),
            ("elm", ".elm", ""),
            ("fsharp", ".fs .fsi .fsx", ""),
            ("groovy", ".groovy .gradle", "jenkinsfile"),
            ("powershell", ".ps1 .psm1 .psd1", ""),
            ("vim", ".vim", ".vimrc"),
            ("tcl", ".tcl", ""),
            ("fortran", ".f .f90 .f95 .f03 .for", ""),
            ("pascal", ".pas .pp", ""),
            ("ada", ".adb .ads", ""),
            ("nim", ".nim", ""),
            ("crystal", ".cr", ""),
            ("solidity", ".sol", ""),
            ("verilog", ".v .sv .svh", ""),
            ("vhdl", ".vhd .vhdl", ""),
            ("assembly", ".s .asm", ""),
            ("ini", ".ini .cfg .conf .properties .editorconfig", ""),
            ("fish", ".fish", ""),
            ("gdscript", ".gd", ""),
        )
    ),
    Language("text"),
)

BY_NAME = {language.name: language for language in LANGUAGES}
_BY_SUFFIX = {suffix: language for language in LANGUAGES for suffix in language.suffixes}
_BY_FILE_NAME = {name: language for language in LANGUAGES for name in language.names}
_BY_SHEBANG = {shebang: language for language in LANGUAGES for shebang in language.shebangs}
_TEXT = BY_NAME["text"]

_SHEBANG = re.compile(r"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+)*(?:\S+=\S+\s+)*)?([a-zA-Z]+)")
_CPP_MARKS = re.compile(
    r"^\s*(?:class\s+\w|namespace\s|template\s*<|using\s+\w|public:|private:|protected:|constexpr\s)|\bstd::|^#include <\w+>",
    re.MULTILINE,
)
_OBJC_MARKS = re.compile(r"^\s*(?:@interface|@implementation|@protocol|@import|@class|@end|#import)\b", re.MULTILINE)
_MATLAB_MARKS = re.compile(r"^\s*(?:function\b|%|end\s*$)", re.MULTILINE)


def detect(path: str, text: str = "") -> Language:
    """Return the language of a file from its base name, and from its text where the name leaves a doubt."""
    name = PurePosixPath(path).name.lower()
    language = _BY_FILE_NAME.get(name) or _BY_SUFFIX.get(PurePosixPath(name).suffix)
    if language is None:
        stem = name.split(".", 1)[0]  # Dockerfile.dev, Makefile.am
        language = _BY_FILE_NAME.get(stem) if stem in ("dockerfile", "containerfile", "makefile") else None
    if language is None:
        match = _SHEBANG.match(text)
        return (_BY_SHEBANG.get(match[1].lower()) if match else None) or _TEXT
    return _settle(language, PurePosixPath(name).suffix, text)


def _settle(language: Language, suffix: str, text: str) -> Language:
    """Decide between languages that share a suffix."""
    if suffix == ".h":
        if _OBJC_MARKS.search(text):
            return BY_NAME["objc"]
        if _CPP_MARKS.search(text):
            return BY_NAME["cpp"]
    elif suffix == ".m" and not _OBJC_MARKS.search(text) and _MATLAB_MARKS.search(text):
        return _TEXT
    elif suffix in (".ts", ".mts") and text.lstrip()[:9].startswith(("<?xml", "<!DOCTYPE")):
        return BY_NAME["xml"]  # Qt's translation files
    elif suffix == ".t" and not re.search(r"^\s*(?:use|my|package|ok|is)\b", text, re.MULTILINE):
        return _TEXT
    return language
