"""Manifests together: what joins them, what is read, what changes, and that nothing in them raises."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llama_index_codeindex.engine.codebase import Codebase
from llama_index_codeindex.engine.facts import inventory as inventories
from llama_index_codeindex.engine.facts.inventory import Inventory, parse
from llama_index_codeindex.engine.facts.model import Facts
from llama_index_codeindex.engine.facts.registry import kind_of
from llama_index_codeindex.engine.files.gate import Gate, make_source
from llama_index_codeindex.engine.model import Gap
from tests.conftest import MakeTree
from tests.facts.helpers import read

POM = "<project><dependencies><dependency><artifactId>a</artifactId></dependency></dependencies></project>"
SAMPLES = {
    "package.json": '{"dependencies": {"a": "1"}}',
    "package-lock.json": '{"lockfileVersion": 3, "packages": {"node_modules/a": {"version": "1"}}}',
    "yarn.lock": 'a@^1:\n  version "1.0.0"\n',
    "pnpm-lock.yaml": "lockfileVersion: 9\npackages:\n  a@1.0.0: {}\n",
    "pyproject.toml": '[project]\ndependencies = ["a>=1"]\n',
    "requirements.txt": "a==1 --hash=sha256:00\n-r b.txt\n",
    "setup.cfg": "[options]\ninstall_requires =\n  a>=1\n",
    "Pipfile.lock": '{"_meta": {}, "default": {"a": {"version": "==1"}}}',
    "poetry.lock": '[[package]]\nname = "a"\nversion = "1"\n[metadata]\n',
    "go.mod": "module a\nrequire b v1.0.0\n",
    "Cargo.toml": '[package]\n[dependencies]\na = "1"\n',
    "pom.xml": POM,
    "libs.versions.toml": '[libraries]\na = "b:c:1"\n',
    "Gemfile.lock": "GEM\n  specs:\n    a (1.0)\nDEPENDENCIES\n  a\n",
    "composer.lock": '{"packages": [{"name": "a/b", "version": "1"}]}',
    "a.csproj": '<Project><PackageReference Include="a" Version="1"/></Project>',
    ".tool-versions": "nodejs 20\n",
    "rust-toolchain": '[toolchain]\nchannel = "1"\n',
}


def inventory(root: Path, *gaps: Gap) -> Facts:
    files = [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()]
    return Inventory().facts(files, gaps, Gate(root))


def statuses(facts: Facts) -> dict[str, tuple[str, str]]:
    return {manifest.file_path: (manifest.status, manifest.reason) for manifest in facts.manifests}


def test_the_nearest_lock_file_resolves_what_is_declared(tree: MakeTree) -> None:
    root = tree({
        "package.json": '{"dependencies": {"a": "^1"}}',
        "yarn.lock": 'a@^1:\n  version "1.5.0"\n\na@^2:\n  version "2.5.0"\n\nb@*:\n  version "3.0.0"\n',
        "packages/inner/package.json": '{"devDependencies": {"a": "^2"}}',
    })  # fmt: skip
    facts = inventory(root).facts
    assert [(fact.file_path, fact.name, fact.version, fact.resolved, fact.direct, fact.scope) for fact in facts] == [
        ("package.json", "a", "^1", "1.5.0", True, "runtime"),
        ("packages/inner/package.json", "a", "^2", "2.5.0", True, "dev"),
        ("yarn.lock", "a", "^1", "1.5.0", True, "runtime"),
        ("yarn.lock", "a", "^2", "2.5.0", True, "dev"),
        ("yarn.lock", "b", "*", "3.0.0", False, "runtime"),
    ]


def test_names_are_compared_as_their_ecosystem_does(tree: MakeTree) -> None:
    root = tree({
        "pyproject.toml": '[project]\ndependencies = ["Typing_Extensions"]\n',
        "poetry.lock": '[[package]]\nname = "typing-extensions"\nversion = "4.12"\n[metadata]\n',
        "Directory.Packages.props": '<Project><PackageVersion Include="Serilog" Version="4.0"/></Project>',
        "src/a.csproj": '<Project><PackageReference Include="serilog"/></Project>',
    })  # fmt: skip
    found = {fact.file_path: (fact.resolved, fact.direct) for fact in inventory(root).facts}
    assert found["pyproject.toml"] == ("4.12", True)
    assert found["poetry.lock"] == ("4.12", True)
    assert found["src/a.csproj"] == ("4.0", True)


def test_malformed_means_unknown_not_none(tree: MakeTree) -> None:
    facts = inventory(tree({"package.json": "{", "go.mod": "module a\n", "setup.py": "", "requirements.txt": "a\n"}))
    assert facts.totals() == {
        "go": {"known": "complete", "direct": 0, "locked": 0},
        "npm": {"known": "unknown", "direct": None, "locked": None},
        "pypi": {"known": "partial", "direct": 1, "locked": 0},
    }
    assert statuses(facts) == {
        "go.mod": ("parsed", ""),
        "package.json": ("unparsed", "not JSON: line 1"),
        "requirements.txt": ("parsed", ""),
        "setup.py": ("not_evaluated", "a program: it would have to be run"),
    }


@pytest.mark.parametrize(
    ("path", "ecosystem"),
    [("setup.py", "pypi"), ("build.gradle", "maven"), ("app/build.gradle.kts", "maven"), ("Gemfile", "rubygems"),
     ("a.gemspec", "rubygems"), ("mix.exs", "hex"), ("Package.swift", "swift")],
)  # fmt: skip
def test_programs_are_not_evaluated(path: str, ecosystem: str) -> None:
    draft, status, _ = read(path, "anything")
    assert (draft.ecosystem, status) == (ecosystem, "not_evaluated")


def test_includes_are_followed_inside_the_root_and_only_once(tree: MakeTree) -> None:
    root = tree({
        "requirements.txt": "-r deps/base.list\n-r missing.txt\n-r ../../etc/passwd\na\n",
        "deps/base.list": "-r ../requirements.txt\n-r base.list\nb\n",
    })  # fmt: skip
    facts = inventory(root)
    assert [(fact.name, fact.file_path, fact.line) for fact in facts.facts] == [
        ("b", "deps/base.list", 3), ("a", "requirements.txt", 4)
    ]  # fmt: skip
    reason = "includes a file outside the root: not evaluated; includes missing.txt: not indexed"
    assert statuses(facts)["requirements.txt"] == ("parsed", reason)


def test_a_manifest_outside_the_index_is_unparsed(tree: MakeTree) -> None:
    facts = inventory(tree({"a.txt": ""}), Gap("yarn.lock", "too_large", "2 bytes"), Gap("x.bin", "binary"))
    assert statuses(facts) == {"yarn.lock": ("unparsed", "not read: too large (2 bytes)")}


def test_a_link_out_of_the_root_is_not_read(tree: MakeTree, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("stolen\n", "utf-8")
    root = tree({"requirements.txt": "-r link.txt\n"})
    (root / "link.txt").symlink_to(tmp_path / "secret.txt")
    facts = inventory(root)
    assert facts.facts == ()
    assert statuses(facts)["link.txt"] == ("unparsed", "not read: link outside")


def test_an_edit_shows_at_the_next_call(tree: MakeTree, tmp_path: Path) -> None:
    root = tree({"go.mod": "module a\nrequire b v1.0.0\n", ".nvmrc": "20\n"})
    codebase = Codebase(root, tmp_path / "cache")
    codebase.refresh()
    assert [fact.version for fact in codebase.facts().facts] == ["v1.0.0"]
    assert [runtime.version for runtime in codebase.facts().runtimes] == ["20"]
    (root / "go.mod").write_text("module a\nrequire b v1.1.0\n", "utf-8")
    assert [fact.version for fact in codebase.facts().facts] == ["v1.1.0"]
    assert json.loads(json.dumps(codebase.facts().to_dict()))["totals"]["go"]["direct"] == 1
    codebase.close()


def test_unchanged_files_are_not_parsed_again(tree: MakeTree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree({"go.mod": "module a\nrequire b v1.0.0\n"})
    kept = Inventory()
    first = kept.facts(["go.mod"], [], Gate(root))
    monkeypatch.setattr("llama_index_codeindex.engine.facts.inventory.parse", lambda *_: pytest.fail("parsed again"))
    assert kept.facts(["go.mod"], [], Gate(root)) == first


@pytest.mark.parametrize("path", SAMPLES)
def test_every_sample_is_understood(path: str) -> None:
    draft, status, _ = read(path, SAMPLES[path])
    assert status == "parsed"
    assert len(draft.facts) + len(draft.runtimes) == 1


@pytest.mark.parametrize("path", SAMPLES)
@settings(max_examples=50, deadline=None, derandomize=True)
@given(noise=st.binary(max_size=60), place=st.floats(0, 1), cut=st.integers(0, 12))
def test_arbitrary_bytes_never_raise(path: str, noise: bytes, place: float, cut: int) -> None:
    sample = SAMPLES[path].encode()
    at = int(place * len(sample))
    for data in (noise, sample[:at] + noise + sample[at + cut :]):
        source = make_source(path, data)
        if isinstance(source, Gap):
            continue
        kind = kind_of(path)
        assert kind is not None
        _, status, reason = parse(path, kind, source.text)
        assert status == "parsed" or (reason and not reason.startswith("its parser failed"))


@pytest.mark.parametrize("path", SAMPLES)
def test_hostile_texts_end_soon(path: str) -> None:
    for unit in ("[", "{", '{"a":', "<a>", "- ", "a.", '"', "'''", "a ", "\0", "\\\n", "&a *a ", "(", "a>=1,", "\n"):
        assert read(path, unit * (50_000 // len(unit)))[1] in ("parsed", "unparsed")


def test_a_lock_file_that_is_too_large_for_the_index_is_read(tree: MakeTree, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = {f"node_modules/p{n}": {"version": f"1.0.{n}"} for n in range(30_000)}
    lock = json.dumps({"lockfileVersion": 3, "packages": packages}, indent=1)
    assert len(lock) > 1_000_000
    root = tree({"package.json": '{"dependencies": {"p7": "^1"}}', "package-lock.json": lock})
    codebase = Codebase(root, root.parent / "cache")
    codebase.refresh()
    facts = codebase.facts()
    assert statuses(facts) == {"package.json": ("parsed", ""), "package-lock.json": ("parsed", "")}
    assert [fact.resolved for fact in facts.facts if fact.file_path == "package.json"] == ["1.0.7"]
    monkeypatch.setattr(inventories, "MAX_MANIFEST_BYTES", 1_000_000)
    assert statuses(codebase.facts())["package-lock.json"] == ("unparsed", f"not read: too large ({len(lock)} bytes)")
    codebase.close()
