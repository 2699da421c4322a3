"""What the parser is not shown: C macros, branches of conditionals, and what the Kotlin grammar cannot read."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llama_index_codeindex.engine.syntax.blanking import one_branch, readable
from llama_index_codeindex.engine.syntax.outline import outline

_PIECES = st.sampled_from(
    [
        b"FOO\n",
        b"class API Box {\n",
        b"#if 0\n",
        b"API(1) ",
        b"template <",
        b"#if A(<x>)\n",
        b"#elif B\\\n  C\n",
        b"#else\n",
        b"#endif\n",
        b"// x\n",
        b"/* x */\n",
        b"};\n",
        b"\xc3\xa9",
        b"\xff",
        b"@A(x = 1)\n",
        b"data class ",
        b"a..<b\n",
        b"<*>::x\n",
        b'@A(\n  x = "("\n)\n',
        b"(",
    ]
)


def names(name: str, text: str) -> list[str]:
    return [symbol.qualified for symbol in outline(name, text).symbols]


@settings(deadline=None, derandomize=True, max_examples=100)
@given(language=st.sampled_from(["c", "cpp", "objc", "kotlin", "python"]), pieces=st.lists(_PIECES, max_size=30))
def test_no_byte_and_no_line_moves(language: str, pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    for blanked in (readable(language, data), *(one_branch(data, number)[0] for number in range(3))):
        assert len(blanked) == len(data)
        assert [i for i, byte in enumerate(blanked) if byte == 10] == [i for i, byte in enumerate(data) if byte == 10]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("class EXPORT_API MyClass { void run(); };\n", ["MyClass", "MyClass::run"]),
        ('class API_VISIBLE("default") Box : public Base {\n  int x;\n};\n', ["Box", "Box::x"]),
        ("struct ALIGN16 Vec final { float x; };\n", ["Vec", "Vec::x"]),
        ("EXPORT template <typename T> class Box { T v; };\n", ["Box", "Box::v"]),
        ("BEGIN_NAMESPACE\nnamespace a { class B {}; }\nEND_NAMESPACE\nclass C {};\n", ["a", "a::B", "C"]),
        ("class A {\n  Q_OBJECT\n public:\n  NODISCARD(1) static int f();\n};\n", ["A", "A::f"]),
        ("template<class T> int Box<T>::get(){ return 1; }\n", ["Box::get"]),
        ("template<class T,\n  class U>\nint Box<T,\n  U>::get(){ return 1; }\n", ["Box::get"]),
    ],
)
def test_cpp_macros_cost_no_definition(text: str, expected: list[str]) -> None:
    assert names("a.cpp", text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#define FOO static int x = 10;\nFOO\nint add(int a,int b){ return a; }\n", ["FOO", "add"]),
        ("API_EXTERN Result *make(int a);\nint next(void) { return 1; }\n", ["make", "next"]),
        ("#if defined(A) && \\\n  B(<x>)\nint f(void) { return 1; }\n#endif\n", ["f"]),
        ("enum mode {\n  FIRST,\n  LAST_ONE\n};\n", ["mode", "mode.FIRST", "mode.LAST_ONE"]),
        ("int x = f(\n  FIRST_FLAG\n  | OTHER);\nint g(void) { return 1; }\n", ["x", "g"]),
        ("TEST_CASE(name)\n{\n  run();\n}\nint g(void) { return 1; }\n", ["g"]),
        ("static struct CONN data = { 0 };\nint f(void) { return 1; }\n", ["data", "f"]),
    ],
)
def test_c_macros_cost_no_definition(text: str, expected: list[str]) -> None:
    assert names("a.c", text) == expected


def test_each_branch_gives_what_it_alone_defines() -> None:
    text = (
        "#ifdef A\nint first(int a) {\n#elif B\nint second(int a) {\n#else\nint third(int a) {\n#endif\n  return a;\n}\n\n"
        "#if 0\nint never(void) { return 0; }\n#endif\nint last(void) { return 1; }\n"
    )
    found = outline("a.c", text)
    assert {"first", "second", "third", "last"} <= {s.name for s in found.symbols}
    assert {s.name: s.end_line for s in found.symbols}["first"] == 9


def test_a_haskell_file_has_the_definitions_of_all_its_branches() -> None:
    text = "module A where\n\n#if X\nfast :: Int\nfast = 1\n#else\nslow :: Int\nslow = 2\n#endif\n"
    assert names("A.hs", text) == ["fast", "slow"]


@pytest.mark.parametrize(
    ("number", "kept", "dropped"),
    [(0, [b"a", b"z"], [(3, 4), (5, 6)]), (1, [b"b", b"z"], [(1, 2), (5, 6)]), (2, [b"c", b"z"], [(1, 2), (3, 4)])],
)
def test_one_branch_of_each_group_is_kept(number: int, kept: list[bytes], dropped: list[tuple[int, int]]) -> None:
    blanked, rows = one_branch(b"#if A\na\n#elif B\nb\n#else\nc\n#endif\nz\n", number)
    assert blanked.split() == kept
    assert [(start + 1, end) for start, end in rows] == dropped


def test_kotlin_annotations_hide_no_class() -> None:
    text = (
        "@MustBeDocumented\n@Retention(value = AnnotationRetention.BINARY)\n@RequiresOptIn(\n    level = X,\n"
        '    message = "Not (yet) for you."\n)\npublic annotation class Delicate\n\n/** Next. */\nannotation class Flow\n'
    )
    found = outline("a.kt", text)
    assert [(s.kind, s.name, s.start_line, s.end_line) for s in found.symbols] == [
        ("class", "Delicate", 1, 7),
        ("class", "Flow", 9, 10),
    ]
