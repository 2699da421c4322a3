"""What the parser is not shown: C macros, branches of conditionals, and what a grammar cannot read; Cython as Python."""

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
        b"cdef ",
        b"cdef:\n  ",
        b"cdef extern from 'x':\n    ",
        b"ctypedef struct x:\n",
        b"int f(char *a, int (*b)(int), ...) except -1",
        b"(int, int) x = <int> y, z[3]",
        b"(:\n",
        b'"""',
        b"class ",
        b"def f(int x not None",
        b"sub f($$)",
        b'"((',
        b"(",
    ]
)


def names(name: str, text: str) -> list[str]:
    return [symbol.qualified for symbol in outline(name, text).symbols]


@settings(deadline=None, derandomize=True, max_examples=100)
@given(
    language=st.sampled_from(["c", "cpp", "objc", "kotlin", "python", "bash", "perl"]),
    pieces=st.lists(_PIECES, max_size=30),
)
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
        ("API std::shared_ptr<Box> make(int a) {\n}\n", ["make"]),
        ("API Box::Box(int a) : a_(a) {\n}\nAPI Box<T>::~Box() {\n}\n", ["Box::Box", "Box::~Box"]),
        ("template <typename T> API const Box &pick(T t) NOEXCEPT {\n}\n", ["pick"]),
        ("API Box &Box::operator=(Box other) NOEXCEPT {\n}\n", ["Box::operator="]),
        ("HRESULT Box::open(int a) {\n}\n", ["Box::open"]),
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
        ("TEST_CASE(name)\n{\n  run();\n}\nint g(void) { return 1; }\n", ["name", "g"]),
        ("#if A\nTEST_IMPL(opens) {\n}\n#endif\nmain(argc) {\n}\n", ["opens"]),
        ("int f(void) {\n  FOREACH(item) {\n    g();\n  }\n  return 1;\n}\n", ["f"]),
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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("class Store(base: Map) : Map by wrapped(base) {\n    val size = 1\n}\n", ["Store", "Store.size"]),
        (
            'class A {\n    val log = object : Log by find("a") {\n        override fun info(): Int = 1\n    }\n'
            "    fun next() {}\n}\n",
            ["A", "A.log", "A.log.info", "A.next"],
        ),
        ("class A {\n    val x by lazy(MODE) {\n        1\n    }\n    fun next() {}\n}\n", ["A", "A.x", "A.next"]),
    ],
)
def test_kotlin_delegates_hide_no_body(text: str, expected: list[str]) -> None:
    assert names("a.kt", text) == expected


def test_a_bash_string_that_looks_like_arithmetic_ends() -> None:
    assert names("a.sh", 'f() {\n  eval "(( \\${#${a}[@]} > 0 ))"\n}\ng() {\n  :\n}\n') == ["f", "g"]


def test_perl_signs_end_no_function() -> None:
    text = "sub by_size($$) { return $_[0]->[1] <=> $_[1]->[1] }\nsub bad {\n    $x =~ s/(.+)::/$1->/;\n}\nsub last_one { 1 }\n"
    assert names("a.pl", text) == ["by_size", "bad", "last_one"]


def test_a_csharp_file_has_what_each_branch_defines() -> None:
    text = (
        "interface ISink\n{\n    Task Close()\n#if DEFAULTS\n    {\n        return Done;\n    }\n#else\n        ;\n#endif\n\n"
        "    void Next();\n}\n\nclass Binder\n{\n#if SPAN\n    int Bind(Span x)\n#else\n    int Bind(object[] y)\n#endif\n"
        "    {\n        return 1;\n    }\n\n    int After() { return 2; }\n}\n"
    )
    assert names("a.cs", text) == [
        "ISink", "ISink.Close", "ISink.Next", "Binder", "Binder.Bind", "Binder.Bind", "Binder.After",
    ]  # fmt: skip


def test_dart_typedefs_and_functions_in_functions_are_found() -> None:
    text = "@A()\ntypedef B = C;\ntypedef D<T> = E Function(T x);\ntypedef F G(int x);\nvoid f() {\n  int g(h) {}\n}\n"
    assert names("a.dart", text) == ["B", "D", "G", "f", "f.g"]


@pytest.mark.parametrize(
    ("text", "blanked"),
    [
        ("cdef int f(int a, char *b=NULL) except -1:\n", "def      f(    a,       b=NULL)          :\n"),
        ("cdef class A(B) [object C]:\n", "class      A(B)           :\n"),
        ("cdef extern from 'a.h':\n    int f(int x)\n", "if 1:                  \n    0;  f:0     \n"),
        ("cdef struct s:\n    int x\n", "class       s:\n    0;  x\n"),
        ("cdef int x = <int> y\n", "0;       x =       y\n"),
        ("cdef (int, int) f(x): pass\n", "def             f(x): pass\n"),
        ("cdef int (*cb)(int)\n", "0;         cb      \n"),
        ("ctypedef int (*cb)(int)\n", "nonlocal       cb      \n"),
        (
            "cimport a\ndef f(int[:] x not None, y: int = 1): pass\n",
            "import  a\ndef f(       x         , y: int = 1): pass\n",
        ),
        ('x = """\ncdef int f(int x)\n"""\n', 'x = """\ncdef int f(int x)\n"""\n'),
    ],
)
def test_cython_is_written_as_python(text: str, blanked: str) -> None:
    assert readable("python", text.encode()).decode() == blanked


@pytest.mark.parametrize("line", ["cdef int " + "x" * 40_000, "cdef " + "f(" * 20_000, "cdef x = " + "<a " * 20_000])
def test_long_cython_lines_take_no_longer_than_they_are(line: str) -> None:
    assert len(readable("python", line.encode())) == len(line)
