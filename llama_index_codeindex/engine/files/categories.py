"""What a file is for, told from its path: one table for ranking and for filters.

A question is most often about the code itself, so ranking puts what only accompanies it behind; nothing is left out.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Literal

Category = Literal["source", "test", "example", "docs", "config", "script", "generated", "vendored", "declaration"]

_FOLDERS: dict[str, Category] = {}
for _category, _names in {
    "test": "test tests testing __tests__ __test__ spec specs unittest unittests unit_tests e2e integration_tests "
    "integration-tests test_suite testsuite testdata test-data test_data fixtures fixture __fixtures__ __mocks__ mocks "
    "__snapshots__ snapshots cypress playwright benchmark benchmarks bench benches perf fuzz fuzzing fuzzers qa "
    "testcases test_cases conformance jmh androidtest commontest jvmtest jstest nativetest iostest macostest "
    "testfixtures acceptance regression",
    "example": "example examples sample samples demo demos tutorial tutorials playground playgrounds quickstart "
    "quickstarts showcase cookbook recipes sandbox docs_src doc_src snippets starter starters",
    "docs": "doc docs documentation website site sites www wiki man manpages guides guide book blog changelogs changes "
    "news release-notes releasenotes javadoc apidocs rfcs adr design-docs translations locale locales i18n l10n po "
    "docs-site _posts _includes _layouts",
    "script": "script scripts tools tool hack ci .ci .github .circleci .gitlab .buildkite .devcontainer build-tools "
    "buildsrc build-logic devtools dev maintainer maintainers etc contrib packaging docker .docker deploy deployment "
    "release .changeset .husky .vscode .idea gradle",
    "vendored": "vendor vendors third_party third-party thirdparty 3rdparty external externals node_modules "
    "bower_components deps _vendor extern subprojects",
    "generated": "generated gen __generated__ autogen generated-sources generated_src dist .next target coverage "
    "storybook-static",
}.items():
    for _name in _names.split():
        _FOLDERS[_name] = _category  # type: ignore[assignment]

_TEST_FILE = re.compile(
    r"^(?:test_.*|tests?|.*[_.-](?:test|tests|spec|specs|unittest|cy|e2e|bench|benchmark|fixtures?|mock|stories|story))$"
    r"|^(?:conftest|test.?helpers?|test.?utils?|spec_helper|rails_helper|setup.?tests)$"
)
# CamelCase suffixes of test classes; `Latest` and `Contest` must not match, so the case counts.
_TEST_CLASS = re.compile(r"^(?:.*[a-z0-9])?(?:Tests?|TestCase|Spec|Specs|IT|Benchmark)$|^Test[A-Z].*")
_TEST_CLASS_SUFFIXES = frozenset(
    ".java .kt .scala .cs .swift .php .groovy .m .mm .dart .ts .js .hs .cpp .cc .vb".split()
)

_GENERATED_FILE = re.compile(
    r".*(?:\.pb|\.pb\.\w+|_pb2|_pb2_grpc|\.g|\.gen|\.generated|_generated|\.freezed|\.designer|\.min|-min|\.bundle|"
    r"\.snap|\.lock)$|^(?:zz_generated.*|bindata|package-lock|yarn|pnpm-lock|npm-shrinkwrap|parser\.tab|lex\.yy)$"
)
_LOCK_NAMES = frozenset(
    "cargo.lock poetry.lock uv.lock pipfile.lock composer.lock gemfile.lock go.sum flake.lock mix.lock pubspec.lock "
    "package-lock.json yarn.lock pnpm-lock.yaml npm-shrinkwrap.json bun.lockb packages.lock.json paket.lock".split()
)

_DOC_SUFFIXES = frozenset(
    ".md .markdown .mdx .rst .adoc .asciidoc .txt .rdoc .pod .tex .org .textile .qmd .rmd .1 .3".split()
)
_DOC_NAMES = frozenset(
    "readme changelog changes history news authors contributors license licence copying notice".split()
)
_CONFIG_SUFFIXES = frozenset(
    ".json .jsonc .json5 .yaml .yml .toml .ini .cfg .conf .properties .xml .plist .editorconfig .csv .tsv .svg .html .htm "
    ".css .scss .less .sass .ipynb .gradle .lock .bazel .bzl .cmake .mk .nix .sln .csproj .props .targets .po .pot .xib "
    ".storyboard .strings .webmanifest .graphqls .env .tf .hcl .in .m4 .am .ac .podspec .gemspec .resx .podfile".split()
)
_CONFIG_NAMES = frozenset(
    "makefile gnumakefile dockerfile containerfile rakefile gemfile gruntfile gulpfile jenkinsfile vagrantfile brewfile "
    "procfile podfile fastfile setup.py setup.cfg noxfile.py tasks.py fabfile.py manifest.in package.swift "
    "cmakelists.txt configure build.gradle.kts settings.gradle.kts build.sbt mix.exs codecov.yml .gitignore "
    ".gitattributes .dockerignore .npmignore .prettierrc .eslintrc .babelrc .mailmap cartfile".split()
)
_CONFIG_FILE = re.compile(
    r"(?:webpack|rollup|vite|vitest|jest|babel|eslint|prettier|tailwind|postcss|next|nuxt|svelte|karma|tsup|esbuild|"
    r"playwright|cypress|commitlint|lint-staged|docusaurus|astro|metro|gatsby|stylelint|release)[.-]"
    r"(?:config|conf|setup|workspace)\b.*|\.\w+rc(?:\.\w+)?|size-limit.*|gulpfile.*|gruntfile.*"
)
_SCRIPT_SUFFIXES = frozenset(".sh .bash .zsh .bat .cmd .ps1 .fish".split())


def categorise(path: str) -> Category:
    """Return what a file of this relative POSIX path is for."""
    pure = PurePosixPath(path)
    name = pure.name.lower()
    stem = name[: -len(pure.suffix)] if pure.suffix else name
    if name in _LOCK_NAMES or _GENERATED_FILE.match(stem) or ".min." in name:
        return "generated"
    folder = _folder_category(pure.parts[:-1])
    if folder in ("vendored", "generated"):
        return folder
    if folder == "test" or _is_test_name(pure.name, stem, pure.suffix):
        return "test"
    if folder == "example":
        return "example"
    if folder == "docs" or pure.suffix.lower() in _DOC_SUFFIXES or stem in _DOC_NAMES:
        return "docs"
    if name in _CONFIG_NAMES or _CONFIG_FILE.fullmatch(name):
        return "config"
    if pure.suffix.lower() in _CONFIG_SUFFIXES:
        return "config"
    if folder == "script":
        return "script"
    if name.endswith((".d.ts", ".d.mts", ".d.cts", ".pyi")):
        return "declaration"
    return "source"


def _folder_category(folders: tuple[str, ...]) -> Category | None:
    """Return the category of the folders a file lies in; the strongest wins, whatever its depth."""
    found: set[Category] = set()
    for position, folder in enumerate(folders):
        low = folder.lower()
        category = _FOLDERS.get(low)
        if category is None:
            category = _affixed(low)
        if category is None:
            continue
        # A package of the product may be called so: below a source root, `docs` or `tools` is code.
        if (
            category in ("docs", "script", "example")
            and position
            and any(f in _SOURCE_ROOTS for f in folders[:position])
        ):
            continue
        found.add(category)
    for category in _PRECEDENCE:
        if category in found:
            return category
    return None


_PRECEDENCE: tuple[Category, ...] = ("vendored", "generated", "test", "example", "docs", "script")
_SOURCE_ROOTS = frozenset("src lib app pkg internal cmd source sources packages crates".split())
_AFFIX = re.compile(
    r"(?:.*[-_.])?(tests?|testing|testdata|specs?|examples?|samples?|demos?|docs|benchmarks?|bench|mocks?|fixtures?)$"
)
_AFFIX_CATEGORY: dict[str, Category] = {"example": "example", "sample": "example", "demo": "example", "docs": "docs"}


def _affixed(folder: str) -> Category | None:
    """Return the category of a compound name such as `integration-tests` or `ktor-client-tests`."""
    match = _AFFIX.match(folder) if "-" in folder or "_" in folder or "." in folder else None
    if match is None:
        return None
    return _AFFIX_CATEGORY.get(match[1] if match[1] == "docs" else match[1].rstrip("s"), "test")


def _is_test_name(name: str, stem: str, suffix: str) -> bool:
    if _TEST_FILE.match(stem):
        return True
    return suffix.lower() in _TEST_CLASS_SUFFIXES and _TEST_CLASS.match(name[: -len(suffix)]) is not None
