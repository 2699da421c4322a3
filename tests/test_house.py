"""The house rules, as the architecture page states them, and what the package shows of itself."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import llama_index_codeindex

PACKAGE = Path(llama_index_codeindex.__file__).parent
ENGINE = PACKAGE / "engine"
# A room imports only from rooms before it.
ROOMS = ["files", "syntax", "store", "search", "context", "graph", "facts", "tools"]
# The same rules for people, and finer.
PAGE = (PACKAGE.parent / "notebooks" / "docs" / "pages" / "architecture.md").read_text("utf-8")
LONG_FILE = 400


def imported_names(path: Path) -> set[str]:
    """Return the dotted names of everything a module imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def modules_after(statement: str) -> set[str]:
    """Return the modules that a fresh interpreter has loaded after a statement."""
    code = f"{statement}\nimport sys\nprint('\\n'.join(sys.modules))"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_the_ground_floor_never_imports_llama_index() -> None:
    for path in ENGINE.rglob("*.py"):
        forbidden = {name for name in imported_names(path) if name.split(".")[0] == "llama_index"}
        assert not forbidden, f"{path.name} imports {forbidden}"


def test_the_ground_floor_never_imports_the_upper_one() -> None:
    for path in ENGINE.rglob("*.py"):
        ours = {name for name in imported_names(path) if name.startswith("llama_index_codeindex.")}
        assert all(name.startswith("llama_index_codeindex.engine") for name in ours), path.name


def test_a_room_imports_only_from_rooms_before_it() -> None:
    for position, room in enumerate(ROOMS):
        for path in (ENGINE / room).rglob("*.py"):
            for later in ROOMS[position + 1 :]:
                prefix = f"llama_index_codeindex.engine.{later}"
                assert not any(name.startswith(prefix) for name in imported_names(path)), (
                    f"{room}/{path.name} -> {later}"
                )


def test_no_module_imports_anothers_private_names() -> None:
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("llama_index_codeindex"):
                private = [
                    alias.name for alias in node.names if alias.name.startswith("_") and alias.name != "__version__"
                ]
                assert not private, f"{path.name} imports {private}"


def test_importing_the_package_loads_nothing_heavy() -> None:
    loaded = modules_after("import llama_index_codeindex")
    assert not {"llama_index", "llama_index.core", "faiss", "numpy", "tree_sitter"} & loaded


def test_the_command_line_needs_no_llama_index() -> None:
    loaded = modules_after("import llama_index_codeindex.cli")
    assert "llama_index.core" not in loaded
    assert "faiss" not in loaded


def test_the_command_line_loads_only_what_every_answer_needs() -> None:
    loaded = modules_after("import llama_index_codeindex.cli")
    assert not {"asyncio", "charset_normalizer", "filelock", "tqdm", "watchfiles", "yaml", "pydantic"} & loaded


def test_the_index_loads_no_client_for_servers() -> None:
    assert "openai" not in modules_after("from llama_index_codeindex import CodeIndex")


def test_public_names_are_complete_sorted_and_loadable() -> None:
    names = llama_index_codeindex.__all__
    assert names == sorted(names)
    assert set(names) == set(llama_index_codeindex._HOMES)
    for name in names:
        assert getattr(llama_index_codeindex, name).__name__ == name
        assert name in dir(llama_index_codeindex)


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(llama_index_codeindex, "NoSuchThing")


def table(title: str) -> dict[str, set[str]]:
    """Return a table of the architecture page: what each row may import, by the row's name, in the page's order."""
    body = PAGE.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line.strip().strip("|").split("|") for line in body.splitlines() if line.startswith("| `")]
    return {cells[0].strip(" `"): set(re.findall(r"`([^`]+)`", cells[-1])) for cells in rows}


def modules() -> dict[str, Path]:
    """Return the file of every module of the package, by its dotted name."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def place(module: str) -> str:
    """Return where a module of the package is at home: a room, a module between the rooms, or one upstairs."""
    parts = module.split(".")[1:]
    return f"engine.{parts[1]}" if len(parts) > 1 and parts[0] == "engine" else ".".join(parts[:1])


def imports_of(path: Path) -> set[str]:
    """Return the modules of the package that a file imports when it runs: not those that only its types name."""
    known = modules()
    found: set[str] = set()
    nodes: list[ast.AST] = [ast.parse(path.read_text("utf-8"))]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            nodes.extend(node.orelse)
            continue
        if isinstance(node, ast.ImportFrom) and node.module in known:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found.update(name if name in known else node.module for name in names)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names if alias.name in known)
        nodes.extend(ast.iter_child_nodes(node))
    return found


def places_imported_by(home: str) -> set[str]:
    """Return the other places that the modules of a place import."""
    found = {place(name) for module, path in modules().items() if place(module) == home for name in imports_of(path)}
    return found - {home, ""}


def test_the_page_names_every_room_and_module() -> None:
    assert list(table("Rooms")) == ROOMS
    assert set(ROOMS) == {path.name for path in ENGINE.iterdir() if (path / "__init__.py").exists()}
    assert set(table("Between the rooms")) == {path.stem for path in ENGINE.glob("*.py")} - {"__init__"}
    upstairs = {place(module) for module in modules()}
    assert set(table("The upper floor")) == {name for name in upstairs if not name.startswith("engine")} - {
        "",
        "__main__",
    }


@pytest.mark.parametrize("title", ["Rooms", "Between the rooms"])
def test_the_ground_floor_imports_what_the_page_allows(title: str) -> None:
    for name, allowed in table(title).items():
        used = {other.removeprefix("engine.") for other in places_imported_by(f"engine.{name}")}
        assert used <= allowed | {"model", "errors"}, f"{name} imports {sorted(used - allowed)}"


def test_the_upper_floor_imports_what_the_page_allows() -> None:
    for name, allowed in table("The upper floor").items():
        used = {other for other in places_imported_by(name) if not other.startswith("engine")}
        assert used <= allowed, f"{name} imports {sorted(used - allowed)}"


def test_what_a_row_may_import_stands_above_it() -> None:
    ground = {**table("Rooms"), **table("Between the rooms")}
    for rows in (table("Rooms"), table("Between the rooms"), table("The upper floor")):
        above: list[str] = []
        for name, allowed in rows.items():
            assert allowed & set(rows) <= set(above), f"{name} may import what stands below it"
            assert allowed <= set(rows) | set(ground), f"{name} may import what does not exist"
            above.append(name)


def test_nothing_imports_in_a_circle() -> None:
    known = modules()
    graph = {name: imports_of(path) - {name} for name, path in known.items()}
    while True:
        free = [name for name, needed in graph.items() if not needed & graph.keys()]
        if not free:
            break
        for name in free:
            del graph[name]
    assert not graph, f"a circle among {sorted(graph)}"


def test_nobody_reaches_for_anothers_private_names() -> None:
    given = {"_make", "_replace", "_asdict", "_fields", "_getframe"}  # the standard library's, documented
    given |= {"_actions", "_choices_actions", "_SubParsersAction"}  # argparse tells its options through no other door
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        nodes = list(ast.walk(tree))
        own = {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))}
        own |= {n.target.id for n in nodes if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}
        reached = set()
        for node in nodes:
            if isinstance(node, ast.Attribute) and re.match(r"_[^_]", node.attr):
                if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
                    own.add(node.attr)
                else:
                    reached.add(node.attr)
        assert reached <= own | given, f"{path.name} reaches for {sorted(reached - own - given)}"


def test_a_long_file_has_its_reason_on_the_page() -> None:
    lengths = {p.relative_to(PACKAGE).as_posix(): len(p.read_text("utf-8").splitlines()) for p in PACKAGE.rglob("*.py")}
    long = {name for name, lines in lengths.items() if lines > LONG_FILE}
    listed = set(table("Further rules"))
    assert long <= listed, f"over {LONG_FILE} lines without a reason: {sorted(long - listed)}"
    assert listed <= long, f"no longer long, take it off the page: {sorted(listed - long)}"
