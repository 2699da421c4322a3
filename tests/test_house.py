"""The house rules: which floor and room may import what, and what the package shows of itself."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import llama_index_codeindex

PACKAGE = Path(llama_index_codeindex.__file__).parent
ENGINE = PACKAGE / "engine"
# A room imports only from rooms before it.
ROOMS = ["files", "syntax", "store", "search", "context", "graph", "facts", "tools"]


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
    assert not {"llama_index", "llama_index.core", "faiss", "numpy", "tantivy", "tree_sitter"} & loaded


def test_the_command_line_needs_no_llama_index() -> None:
    loaded = modules_after("import llama_index_codeindex.cli")
    assert "llama_index.core" not in loaded
    assert "faiss" not in loaded


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
