from __future__ import annotations

from pathlib import Path

import pytest

from llama_index_codeindex.engine.codebase import Codebase
from llama_index_codeindex.engine.errors import EmptyQuery, SymbolNotFound
from llama_index_codeindex.engine.graph import resolve
from llama_index_codeindex.engine.graph.text import Surroundings, is_foreign
from tests.graph.conftest import Indexed
from tests.graph.samples import GO, PYTHON, TYPESCRIPT


def shown(codebase: Codebase, name: str) -> list[tuple[str, int, str, str, str]]:
    return [(u.file_path, u.line, u.kind, u.symbol, u.confidence) for u in codebase.references(name).uses]


def test_an_imported_class_is_exact_with_the_definition_around_each_use(indexed: Indexed) -> None:
    assert shown(indexed(PYTHON), "Cart") == [
        ("shop/report.py", 7, "call", "print_report", "exact"),
        ("shop/__init__.py", 1, "import", "", "exact"),
        ("shop/report.py", 2, "import", "", "exact"),
        ("tests/test_cart.py", 6, "call", "test_total.helper", "exact"),
        ("tests/test_cart.py", 1, "import", "", "exact"),
    ]


def test_own_methods_are_exact_and_those_of_a_variable_likely(indexed: Indexed) -> None:
    assert shown(indexed(PYTHON), "Cart.total_price") == [
        ("shop/cart.py", 12, "call", "Cart.describe_total", "exact"),
        ("shop/report.py", 10, "call", "print_report", "likely"),
        ("tests/test_cart.py", 7, "call", "test_total", "likely"),
    ]


def test_a_name_from_elsewhere_is_only_a_name(indexed: Indexed) -> None:
    uses = indexed(PYTHON).references("round_price").uses
    sure = {(u.file_path, u.line): u.confidence for u in uses}
    assert sure[("shop/cart.py", 9)] == "exact" and sure[("shop/cart.py", 1)] == "exact"
    assert sure[("shop/report.py", 9)] == "name" and sure[("shop/report.py", 3)] == "name"
    assert [u.candidates for u in uses if u.confidence == "name"] == [("shop/money.py#round_price",)] * 2
    assert {u.target for u in uses if u.confidence == "exact"} == {"shop/money.py#round_price"}


def test_a_small_word_on_a_variable_is_never_exact(indexed: Indexed) -> None:
    assert shown(indexed(PYTHON), "get") == [("shop/report.py", 8, "call", "print_report", "likely")]
    alone = indexed(PYTHON | {"lib/far.py": "def run(mapping):\n    return mapping.get(1)\n"})
    assert ("lib/far.py", 2, "call", "run", "name") in shown(alone, "get")


def test_local_functions_are_seen_only_inside_theirs(indexed: Indexed) -> None:
    codebase = indexed(PYTHON)
    assert len(codebase.references("helper").definitions) == 2
    assert shown(codebase, "tests/test_cart.py#test_other.helper") == [
        ("tests/test_cart.py", 13, "call", "test_other", "exact")
    ]


def test_ambiguous_names_give_candidates(indexed: Indexed) -> None:
    codebase = indexed(
        {
            "a/one.py": "class Reader:\n    def read_all(self):\n        return 1\n",
            "b/two.py": "class Writer:\n    def read_all(self):\n        return 2\n",
            "c/use.py": "def use(thing):\n    return thing.read_all()\n",
        }
    )
    (use,) = codebase.references("read_all").uses
    assert (use.confidence, use.target) == ("name", "")
    assert use.candidates == ("a/one.py#Reader.read_all", "b/two.py#Writer.read_all")
    (one,) = codebase.references("Writer.read_all").uses
    assert one == use


def test_super_is_not_the_class_itself(indexed: Indexed) -> None:
    codebase = indexed(
        {
            "base.py": "class Base:\n    def save_all(self):\n        return 1\n",
            "child.py": (
                "from base import Base\n\n\nclass Child(Base):\n"
                "    def save_all(self):\n        return super().save_all()\n\n"
                "    def run(self):\n        return self.save_all()\n"
            ),
        }
    )
    assert shown(codebase, "Base.save_all") == [("child.py", 6, "call", "Child.save_all", "likely")]
    assert shown(codebase, "Child.save_all") == [("child.py", 9, "call", "Child.run", "exact")]


def test_calling_a_class_calls_its_constructor(indexed: Indexed) -> None:
    assert shown(indexed(PYTHON), "Cart.__init__") == [
        ("shop/report.py", 7, "call", "print_report", "exact"),
        ("tests/test_cart.py", 6, "call", "test_total.helper", "exact"),
    ]


def test_typescript(indexed: Indexed) -> None:
    codebase = indexed(TYPESCRIPT)
    assert shown(codebase, "openSession") == [
        ("src/app.ts", 5, "call", "start", "exact"),
        ("src/store.ts", 11, "call", "SessionStore.find", "exact"),
        ("src/app.ts", 1, "import", "", "exact"),
    ]
    assert {(u.file_path, u.line, u.confidence) for u in codebase.references("Session").uses} == {
        ("src/store.ts", 5, "exact"),
        ("src/store.ts", 10, "exact"),
    }
    # `parse` comes from a package; the index has another one.
    assert {u.confidence for u in codebase.references("parse").uses} == {"name"}


def test_go(indexed: Indexed) -> None:
    codebase = indexed(GO)
    assert shown(codebase, "NewBox") == [("cmd/main.go", 6, "call", "main", "exact")]
    assert shown(codebase, "cube") == [("box/box.go", 12, "call", "Box.Volume", "exact")]
    assert {(u.file_path, u.line, u.confidence) for u in codebase.references("Box").uses} >= {
        ("box/box.go", 8, "exact")
    }
    assert [(u.file_path, u.line) for u in codebase.references("Box.Volume").uses] == [("cmd/main.go", 7)]


def test_a_changed_line_is_less_sure(indexed: Indexed) -> None:
    codebase = indexed(PYTHON)
    (codebase.root / "shop" / "cart.py").write_text("")
    sure = {(u.file_path, u.line): u.confidence for u in codebase.references("total_price").uses}
    assert sure[("shop/cart.py", 12)] == "likely"


def test_uses_of_what_is_not_defined_here_match_by_name(indexed: Indexed) -> None:
    codebase = indexed({"a.py": "import os\n\nos.walk('.')\n"})
    found = codebase.references("walk")
    assert found.definitions == () and [(u.line, u.confidence) for u in found.uses] == [(3, "name")]


@pytest.mark.parametrize("name", ["", "  ", "``"])
def test_an_empty_name(indexed: Indexed, name: str) -> None:
    with pytest.raises(EmptyQuery):
        indexed({"a.py": "x = 1\n"}).references(name)


@pytest.mark.parametrize("name", ["nosuch", "a.b.c", "#", "::", "'; DROP TABLE refs; --", "x" * 3000, "a\0b", "\ud800"])
def test_hostile_names_are_not_found(indexed: Indexed, name: str) -> None:
    codebase = indexed({"a.py": "def real():\n    pass\n"})
    for ask in (codebase.references, codebase.callers, codebase.impact):
        with pytest.raises(SymbolNotFound):
            ask(name)


def test_receivers_are_read_from_the_line() -> None:
    lines = [
        "self.run()\n", "super().run()\n", "run()\n", "a.b.run()\n", "box::run()\n", "make().run()\n", "x\n", "  .run()\n",
        "runner()\n", "this?.run()\n",
    ]  # fmt: skip
    around = Surroundings(lambda path: lines)
    assert [around.receiver("a", n, "run") for n in range(1, 11)] == [
        "self", "super", "", "?", "box", "?", None, "x", None, "self",
    ]  # fmt: skip
    assert around.receiver("a", 99, "run") is None


def test_modules_of_imports() -> None:
    python = "from a.b import (\n    one,\n    two as three,\n)\nfrom . import four\n"
    script = "import def, { one, two as three } from './x';\nconst { four } = require('pkg');\n"
    around = Surroundings(lambda path: (python if path == "p" else script).splitlines(keepends=True))
    assert around.modules_of("p", "python", "one") == {"a.b"} and around.modules_of("p", "python", "four") == {"."}
    assert around.modules_of("p", "python", "two") == frozenset()
    assert around.modules_of("p", "python", "two", renamed=True) == {"a.b"}
    assert around.modules_of("s", "web", "one") == {"./x"} and around.modules_of("s", "web", "four") == {"pkg"}
    assert around.modules_of("s", "go", "one") == frozenset()


@pytest.mark.parametrize(
    ("module", "home", "foreign"),
    [
        ("werkzeug.wrappers", "src/flask/wrappers.py", True),
        ("flask.wrappers", "src/flask/wrappers.py", False),
        ("flask", "src/flask/app.py", False),
        (".core", "src/click/core.py", False),
        ("money", "money.py", False),
        ("@scope/pkg", "packages/scope/src/a.ts", False),
        ("react", "src/app.tsx", True),
        ("@/lib/a", "src/lib/a.ts", False),
    ],
)
def test_foreign_modules(module: str, home: str, foreign: bool) -> None:
    assert is_foreign(module, home) is foreign


def test_the_same_answer_every_time(indexed: Indexed, tmp_path: Path) -> None:
    codebase = indexed(PYTHON)
    again = Codebase(codebase.root, tmp_path / "second")
    again.refresh()
    for name in ("Cart", "round_price", "helper", "get"):
        assert codebase.references(name).to_dict() == again.references(name).to_dict()
    again.close()


def test_an_id_of_any_qualified_name_is_found(indexed: Indexed) -> None:
    codebase = indexed(
        {"src/store.ts": "export interface Store {\n  [Symbol.observable](): void;\n  plain(): void;\n}\n"}
    )
    with codebase.store.read() as view:
        (file,) = view.catalog.files().values()
        names = [row.symbol.qualified for row in view.catalog.symbols_of_file(file.id)]
    assert "Store.[Symbol.observable]" in names
    for name in names:
        assert [d.symbol for d in codebase.references(f"src/store.ts#{name}").definitions] == [name]


def test_what_is_passed_on_or_read_is_used(indexed: Indexed) -> None:
    codebase = indexed(
        {
            "lib/marks.py": "LIMIT = 3\n\n\ndef keep_all(row):\n    return True\n\n\nclass Row:\n"
            "    @property\n    def long_name(self):\n        return 'x'\n",
            "lib/use.py": "from lib.marks import LIMIT, Row, keep_all\n\n\ndef run(rows, step=LIMIT):\n"
            "    found = filter(keep_all, rows)\n    return [r.long_name for r in found], {Row: step}\n",
        }
    )
    assert shown(codebase, "keep_all") == [
        ("lib/use.py", 5, "value", "run", "exact"),
        ("lib/use.py", 1, "import", "", "exact"),
    ]
    assert ("lib/use.py", 4, "value", "run", "exact") in shown(codebase, "LIMIT")
    assert ("lib/use.py", 6, "value", "run", "exact") in shown(codebase, "Row")
    assert shown(codebase, "long_name") == [("lib/use.py", 6, "value", "run", "likely")]


def test_variables_are_no_uses(indexed: Indexed) -> None:
    codebase = indexed(
        {
            "a.py": "def total(rows, size=1):\n    kept = rows\n    self.rows = size\n    return kept\n",
            "b.go": "package b\n\nfunc f(size int) int {\n\tkept := size\n\treturn kept\n}\n",
            "c.ts": "export function f<T>(size: T): T {\n  const kept = size;\n  return kept;\n}\n",
        }
    )
    for name in ("rows", "size", "kept", "T"):
        with pytest.raises(SymbolNotFound):
            codebase.references(name)


def test_values_and_types_of_typescript(indexed: Indexed) -> None:
    codebase = indexed(
        {
            "src/a.ts": "export type Shape<T> = { of: T };\nexport const origin = 0;\nfunction draw() {}\nexport { draw };\n",
            "src/b.ts": "export { draw } from './a';\nimport { Shape, origin } from './a';\n"
            "export const all: Array<Shape<string>> = [];\nconst made = { origin, to: origin };\nexport default made;\n",
        }
    )
    assert shown(codebase, "draw") == [
        ("src/b.ts", 1, "import", "", "exact"),
        ("src/a.ts", 4, "value", "", "likely"),
    ]
    assert {(line, kind) for _, line, kind, _, _ in shown(codebase, "Shape")} == {(2, "import"), (3, "type")}
    assert {(line, kind) for _, line, kind, _, _ in shown(codebase, "origin")} == {(2, "import"), (4, "value")}


def test_values_of_go(indexed: Indexed) -> None:
    codebase = indexed(
        {
            "box/a.go": "package box\n\nconst MaxBoxes = 3\n\nfunc Timeout() int { return 1 }\n",
            "box/b.go": "package box\n\nvar Limit = MaxBoxes\n\nvar made = Client{Timeout: MaxBoxes, Next: Timeout}\n",
        }
    )
    assert [(line, sure) for _, line, _, _, sure in shown(codebase, "MaxBoxes")] == [(3, "exact"), (5, "exact")]
    (use,) = codebase.references("Timeout").uses
    assert (use.line, use.kind) == (5, "value")


def test_a_very_common_name_is_read_in_the_likeliest_files_alone(
    indexed: Indexed, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {f"far/u{n}.py": "from lib.one import read_all\n\n\ndef run():\n    read_all()\n" for n in range(5)}
    codebase = indexed(files | {"lib/one.py": "def read_all():\n    return 1\n\n\nread_all()\n"})
    whole = shown(codebase, "read_all")
    assert {sure for *_, sure in whole} == {"exact"}
    monkeypatch.setattr(resolve, "_MAX_READ", {True: 2, False: 2})
    bounded = shown(codebase, "read_all")
    assert sorted(use[:4] for use in bounded) == sorted(use[:4] for use in whole)
    assert [use[:2] for use in bounded if use[4] == "exact"] == [
        ("far/u0.py", 5),
        ("lib/one.py", 5),
        ("far/u0.py", 1),
    ]
    assert {use[4] for use in bounded} == {"exact", "likely"}


def test_of_several_places_on_a_line_the_one_that_fits_counts() -> None:
    lines = ["copy = row.copy()\n", "made(copy=self.copy)\n", "{'copy': row.copy}\n", "// ends.\n", "copy()\n"]
    around = Surroundings(lambda path: lines)
    assert around.receiver("a", 1, "copy", "call") == "row"
    assert around.receiver("a", 2, "copy", "value") == "self"
    assert around.receiver("a", 3, "copy", "value") == "row"
    assert around.receiver("a.ts", 5, "copy", "call") == ""
    go = Surroundings(lambda path: ["\treturn box.\n", "\t\tcopy()\n", "c.parent.copy()\n", "parent::copy()\n"])
    assert around.receiver("a", 1, "copy") == "row"
    assert go.receiver("a.go", 2, "copy", "call") == "box"
    assert [go.receiver("a.go", line, "copy", "call") for line in (3, 4)] == ["?", "super"]
