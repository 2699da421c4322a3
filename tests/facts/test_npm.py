"""npm: `package.json` and the lock files of npm, Yarn and pnpm."""

from __future__ import annotations

import pytest

from tests.facts.helpers import read, reason_of, rows, runtimes

PACKAGE = """{
  "name": "shop",
  "packageManager": "pnpm@9.1.0+sha512.abc",
  "engines": {"node": ">=20"},
  "dependencies": {
    "left-pad": "^1.3.0",
    "old": "npm:@scope/real@^2"
  },
  "devDependencies": {"vitest": "~2.0.0"},
  "optionalDependencies": {"fsevents": "*"},
  "peerDependencies": {"react": ">=18"}
}
"""


def test_package_json() -> None:
    assert rows("package.json", PACKAGE) == [
        ("left-pad", "^1.3.0", "", "runtime", 6),
        ("@scope/real", "npm:@scope/real@^2", "", "runtime", 7),
        ("vitest", "~2.0.0", "", "dev", 9),
        ("fsevents", "*", "", "optional", 10),
        ("react", ">=18", "", "peer", 11),
    ]
    assert runtimes("package.json", PACKAGE) == [("node", ">=20", 4), ("pnpm", "9.1.0", 3)]


def test_package_lock_of_places() -> None:
    text = """{
  "lockfileVersion": 3,
  "packages": {
    "": {"dependencies": {"a": "^1.0.0"}, "workspaces": ["w"]},
    "w": {"name": "w", "devDependencies": {"c": "^3"}},
    "node_modules/w": {"resolved": "w", "link": true},
    "node_modules/a": {"version": "1.2.3"},
    "node_modules/a/node_modules/b": {"version": "0.1.0", "optional": true},
    "node_modules/c": {"version": "3.0.1", "dev": true},
    "node_modules/b": {"name": "real-b", "version": "2.0.0", "dev": true}
  }
}"""
    assert rows("package-lock.json", text) == [
        ("a", "^1.0.0", "1.2.3", "runtime", 7),
        ("c", "^3", "3.0.1", "dev", 9),
        ("real-b", "", "2.0.0", "dev", 10),
        ("b", "", "0.1.0", "optional", 8),
    ]
    assert [fact.direct for fact in read("package-lock.json", text)[0].facts] == [True, True, False, False]


def test_package_lock_of_trees() -> None:
    text = """{"lockfileVersion": 1, "dependencies": {
  "a": {"version": "1.0.0", "dependencies": {
    "b": {"version": "2.0.0", "dev": true}}},
  "c": {"version": "npm:real@3.0.0"}
}}"""
    assert rows("package-lock.json", text) == [
        ("a", "", "1.0.0", "runtime", 2), ("real", "", "3.0.0", "runtime", 4), ("b", "", "2.0.0", "dev", 3),
    ]  # fmt: skip
    assert read("package-lock.json", text)[0].tells_direct is False


def test_yarn_lock_classic_and_berry() -> None:
    classic = """# yarn lockfile v1


"@babel/core@^7.0.0", "@babel/core@^7.1.0":
  version "7.2.0"
  dependencies:
    lodash "^4"

lodash@^4:
  version "4.17.21"
"""
    assert rows("yarn.lock", classic) == [
        ("@babel/core", "^7.0.0, ^7.1.0", "7.2.0", "runtime", 4),
        ("lodash", "^4", "4.17.21", "runtime", 9),
    ]
    berry = """__metadata:
  version: 8

"lodash@npm:^4, lodash@npm:^4.17":
  version: 4.17.21
  linkType: hard

"shop@workspace:.":
  version: 0.0.0-use.local
  linkType: soft
"""
    assert rows("yarn.lock", berry) == [("lodash", "^4, ^4.17", "4.17.21", "runtime", 4)]


@pytest.mark.parametrize(
    ("version", "key"), [("9.0", "b@2.0.0"), ("6.0", "/b@2.0.0(a@1.1.0)"), ("5.4", "/b/2.0.0_a@1.1.0")]
)
def test_pnpm_lock(version: str, key: str) -> None:
    text = f"""lockfileVersion: '{version}'
importers:
  .:
    dependencies:
      a:
        specifier: ^1.0.0
        version: 1.1.0(b@2.0.0)
      near:
        specifier: workspace:*
        version: link:../near
packages:
  {"/a/1.1.0" if version == "5.4" else "a@1.1.0"}:
    resolution: {{integrity: x}}
  {key}:
    dev: true
"""
    assert rows("pnpm-lock.yaml", text) == [("a", "^1.0.0", "1.1.0", "runtime", 5), ("b", "", "2.0.0", "dev", 14)]


def test_pnpm_lock_of_version_5_keeps_ranges_apart() -> None:
    text = (
        "lockfileVersion: 5.3\nspecifiers:\n  a: ^1\ndependencies:\n  a: 1.0.0\npackages:\n  /a/1.0.0: {dev: false}\n"
    )
    assert rows("pnpm-lock.yaml", text) == [("a", "^1", "1.0.0", "runtime", 5)]


def test_pnpm_catalogs() -> None:
    text = "packages: ['*']\ncatalog:\n  react: ^18\ncatalogs:\n  old:\n    react: ^17\n"
    assert rows("pnpm-workspace.yaml", text) == [
        ("react", "^18", "", "runtime", 3), ("react", "^17", "", "runtime", 6)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "text", "reason"),
    [
        ("package.json", '{"dependencies": {\n', "not JSON: line 2"),
        ("package.json", "[]", "not a JSON object"),
        ("package.json", '{"dependencies": ["a"]}', "dependencies is not an object"),
        ("package.json", '{"dependencies": {"a": 1}}', "dependencies has a version that is not a text"),
        ("package.json", '{"a":' * 100_000, "nested too deeply"),
        ("package-lock.json", "{}", "no lock file of a known version"),
        ("yarn.lock", "<<<<<<< HEAD\na@^1:\n", "line 1 is not of a lock file"),
        ("yarn.lock", "a@^1:\n  resolved x\n", "line 1 has no version"),
        ("yarn.lock", "__metadata:\n  version: 8\n  a: [", "not YAML: line 4"),
        ("pnpm-lock.yaml", "a: b\n", "it states no version of its format"),
        ("pnpm-lock.yaml", "- a\n", "not a YAML mapping"),
        ("pnpm-lock.yaml", "a: *nothing\n", "not YAML: line 1"),
    ],
)
def test_malformed_is_unparsed(path: str, text: str, reason: str) -> None:
    assert reason_of(path, text) == reason
