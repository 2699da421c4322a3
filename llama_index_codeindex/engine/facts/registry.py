"""Which file is a manifest, of what ecosystem, and who reads it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from llama_index_codeindex.engine.facts import (
    cargo,
    dotnet,
    golang,
    jvm,
    npm,
    npm_locks,
    php,
    python,
    python_locks,
    requirements,
    ruby,
    runtimes,
)
from llama_index_codeindex.engine.facts.draft import Parser

_PROGRAM = "a program: it would have to be run"
_NO_PARSER = "a format that is not read here"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of manifest; without a parser, `reason` says why it is not evaluated."""

    ecosystem: str
    parser: Parser | None = None
    reason: str = ""


_NAMES: dict[str, Kind] = {
    "package.json": Kind("npm", npm.package_json),
    "package-lock.json": Kind("npm", npm.package_lock),
    "npm-shrinkwrap.json": Kind("npm", npm.package_lock),
    "yarn.lock": Kind("npm", npm_locks.yarn_lock),
    "pnpm-lock.yaml": Kind("npm", npm_locks.pnpm_lock),
    "pnpm-workspace.yaml": Kind("npm", npm.pnpm_workspace),
    ".nvmrc": Kind("npm", runtimes.version_file("node")),
    ".node-version": Kind("npm", runtimes.version_file("node")),
    "pyproject.toml": Kind("pypi", python.pyproject),
    "setup.cfg": Kind("pypi", python.setup_cfg),
    "pipfile": Kind("pypi", python.pipfile),
    "pipfile.lock": Kind("pypi", python_locks.pipfile_lock),
    "poetry.lock": Kind("pypi", python_locks.poetry_lock),
    "uv.lock": Kind("pypi", python_locks.uv_lock),
    ".python-version": Kind("pypi", runtimes.version_file("python")),
    "runtime.txt": Kind("pypi", runtimes.version_file("python")),
    "go.mod": Kind("go", golang.go_mod),
    ".go-version": Kind("go", runtimes.version_file("go")),
    "cargo.toml": Kind("cargo", cargo.cargo_toml),
    "cargo.lock": Kind("cargo", cargo.cargo_lock),
    "rust-toolchain": Kind("cargo", runtimes.rust_toolchain),
    "rust-toolchain.toml": Kind("cargo", runtimes.rust_toolchain),
    "pom.xml": Kind("maven", jvm.pom_xml),
    ".java-version": Kind("maven", runtimes.version_file("java")),
    "gemfile.lock": Kind("rubygems", ruby.gemfile_lock),
    "gems.locked": Kind("rubygems", ruby.gemfile_lock),
    ".ruby-version": Kind("rubygems", runtimes.version_file("ruby")),
    "composer.json": Kind("packagist", php.composer_json),
    "composer.lock": Kind("packagist", php.composer_lock),
    "directory.packages.props": Kind("nuget", dotnet.msbuild),
    "directory.build.props": Kind("nuget", dotnet.msbuild),
    "packages.config": Kind("nuget", dotnet.packages_config),
    "packages.lock.json": Kind("nuget", dotnet.packages_lock),
    "global.json": Kind("nuget", dotnet.global_json),
    ".tool-versions": Kind("", runtimes.tool_versions),
}
for _ecosystem, _reason, _files in (
    ("pypi", _PROGRAM, "setup.py"),
    ("pypi", _NO_PARSER, "pdm.lock pylock.toml"),
    ("conda", _NO_PARSER, "environment.yml environment.yaml pixi.toml pixi.lock"),
    ("npm", _NO_PARSER, "bun.lock bun.lockb deno.json deno.jsonc deno.lock"),
    (
        "maven",
        _PROGRAM,
        "build.gradle build.gradle.kts settings.gradle settings.gradle.kts build.sbt build.sc project.clj",
    ),
    ("maven", _NO_PARSER, "gradle.lockfile"),
    ("rubygems", _PROGRAM, "gemfile gems.rb"),
    ("hex", _PROGRAM, "mix.exs mix.lock rebar.config"),
    ("swift", _PROGRAM, "package.swift"),
    ("swift", _NO_PARSER, "package.resolved cartfile cartfile.resolved"),
    ("cocoapods", _PROGRAM, "podfile"),
    ("cocoapods", _NO_PARSER, "podfile.lock"),
    ("pub", _NO_PARSER, "pubspec.yaml pubspec.lock"),
    ("hackage", _NO_PARSER, "stack.yaml package.yaml cabal.project cabal.project.freeze"),
    ("conan", _PROGRAM, "conanfile.py"),
    ("conan", _NO_PARSER, "conanfile.txt"),
    ("vcpkg", _NO_PARSER, "vcpkg.json"),
    ("cran", _NO_PARSER, "renv.lock"),
    ("julia", _NO_PARSER, "project.toml manifest.toml"),
):
    for _file in _files.split():
        _NAMES[_file] = Kind(_ecosystem, None, _reason)

_REQUIREMENTS = Kind("pypi", requirements.requirements)
_PATTERNS: tuple[tuple[re.Pattern[str], Kind], ...] = (
    (re.compile(r"(?:.+/)?(?:[\w.-]*[_.-])?(?:requirements|constraints)[\w.-]*\.(?:txt|in)"), _REQUIREMENTS),
    (re.compile(r"(?:.+/)?requirements/[^/]+\.(?:txt|in)"), _REQUIREMENTS),
    (re.compile(r"(?:.+/)?[^/]+\.versions\.toml"), Kind("maven", jvm.version_catalog)),
    (re.compile(r"(?:.+/)?[^/]+\.(?:cs|fs|vb)proj"), Kind("nuget", dotnet.msbuild)),
    (re.compile(r"(?:.+/)?[^/]+\.gemspec"), Kind("rubygems", None, _PROGRAM)),
    (re.compile(r"(?:.+/)?[^/]+\.podspec"), Kind("cocoapods", None, _PROGRAM)),
    (re.compile(r"(?:.+/)?[^/]+\.gradle(?:\.kts)?"), Kind("maven", None, _PROGRAM)),
    (re.compile(r"(?:.+/)?[^/]+\.cabal"), Kind("hackage", None, _NO_PARSER)),
    (re.compile(r"(?:.+/)?[^/]+\.rockspec"), Kind("luarocks", None, _PROGRAM)),
)


def kind_of(path: str) -> Kind | None:
    """Return the kind of manifest at a relative path, or None if it is none."""
    low = path.lower()
    known = _NAMES.get(PurePosixPath(low).name)
    if known:
        return known
    return next((kind for pattern, kind in _PATTERNS if pattern.fullmatch(low)), None)


def included_kind() -> Kind:
    """Return the kind of a file that a requirements file includes, whatever its name."""
    return _REQUIREMENTS
