"""Go, Cargo, Maven, RubyGems, Packagist, NuGet, and files that only pin a runtime."""

from __future__ import annotations

import pytest

from tests.facts.helpers import read, reason_of, rows, runtimes


def test_go_mod() -> None:
    text = """// a comment, https://example.org
module example.org/shop

go 1.22
toolchain go1.22.3

require example.org/one v1.0.0
require (
\texample.org/two v2.1.0 // indirect
\texample.org/three v0.3.0
)
replace example.org/one => ../one
replace example.org/three v0.3.0 => example.org/fork v0.3.1
exclude example.org/two v2.0.0
"""
    assert rows("go.mod", text) == [
        ("example.org/one", "v1.0.0", "../one", "runtime", 7),
        ("example.org/two", "v2.1.0", "", "runtime", 9),
        ("example.org/three", "v0.3.0", "example.org/fork v0.3.1", "runtime", 10),
    ]
    assert [fact.direct for fact in read("go.mod", text)[0].facts] == [True, False, True]
    assert runtimes("go.mod", text) == [("go", "1.22", 4), ("go-toolchain", "go1.22.3", 5)]


def test_cargo_toml_and_its_lock() -> None:
    text = """[package]
name = "shop"
rust-version = "1.70"
[dependencies]
serde = { version = "1", optional = true }
json = { package = "serde_json", version = "1.0" }
shared.workspace = true
[dev-dependencies]
rand = "0.8"
[target.'cfg(windows)'.dependencies]
winapi = { git = "https://example.org/winapi" }
[build-dependencies.cc]
version = "1.1"
[workspace.dependencies]
log = "0.4"
"""
    assert rows("Cargo.toml", text) == [
        ("serde", "1", "", "optional", 5),
        ("serde_json", "1.0", "", "runtime", 6),
        ("shared", "workspace", "", "runtime", 7),
        ("winapi", "git:https://example.org/winapi", "", "runtime", 11),
        ("rand", "0.8", "", "dev", 9),
        ("cc", "1.1", "", "build", 12),
        ("log", "0.4", "", "runtime", 15),
    ]
    assert runtimes("Cargo.toml", text) == [("rust", "1.70", 3)]
    lock = '[[package]]\nname = "shop"\nversion = "0.1.0"\ndependencies = ["rand 0.8.5"]\n'
    for version in ("0.7.3", "0.8.5"):
        lock += f'[[package]]\nname = "rand"\nversion = "{version}"\nsource = "registry"\n'
    facts = read("Cargo.lock", lock)[0].facts
    assert [(fact.name, fact.resolved, fact.direct, fact.line) for fact in facts] == [
        ("rand", "0.7.3", False, 6), ("rand", "0.8.5", True, 10)
    ]  # fmt: skip


def test_pom_xml() -> None:
    text = """<?xml version="1.0"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <parent><groupId>org.up</groupId><artifactId>top</artifactId><version>7</version></parent>
  <properties>
    <maven.compiler.release>17</maven.compiler.release>
    <guava.version>33.0</guava.version>
    <loop>${loop}</loop>
  </properties>
  <dependencyManagement><dependencies><dependency>
    <groupId>org.a</groupId><artifactId>managed</artifactId><version>2</version>
  </dependency></dependencies></dependencyManagement>
  <dependencies>
    <dependency><groupId>com.g</groupId><artifactId>guava</artifactId><version>${guava.version}</version></dependency>
    <dependency><groupId>org.a</groupId><artifactId>managed</artifactId><scope>test</scope></dependency>
    <dependency><groupId>org.a</groupId><artifactId>lost</artifactId><version>${loop}</version></dependency>
  </dependencies>
  <build><plugins><plugin><artifactId>maven-jar-plugin</artifactId><version>3</version></plugin></plugins></build>
</project>
"""
    assert rows("pom.xml", text) == [
        ("org.a:managed", "2", "2", "runtime", 10),
        ("com.g:guava", "${guava.version}", "33.0", "runtime", 13),
        ("org.a:managed", "", "2", "dev", 14),
        ("org.a:lost", "${loop}", "", "runtime", 15),
        ("org.apache.maven.plugins:maven-jar-plugin", "3", "3", "build", 17),
    ]
    assert runtimes("pom.xml", text) == [("java", "17", 5)]
    assert read("pom.xml", text)[2] == "parent org.up:top is not resolved"


def test_version_catalog() -> None:
    text = """[versions]
ktor = "3.0.0"
rich = { strictly = "[1,2[", prefer = "1.5" }
[libraries]
core = { module = "io.ktor:core", version.ref = "ktor" }
short = "org.a:b:1.0"
ranged = { group = "org.c", name = "d", version = { ref = "rich" } }
[plugins]
kotlin = { id = "org.jetbrains.kotlin", version = "2.0.0" }
"""
    assert rows("gradle/libs.versions.toml", text) == [
        ("io.ktor:core", "3.0.0", "3.0.0", "runtime", 5),
        ("org.a:b", "1.0", "1.0", "runtime", 6),
        ("org.c:d", "[1,2[", "", "runtime", 7),
        ("org.jetbrains.kotlin", "2.0.0", "2.0.0", "build", 9),
    ]


def test_gemfile_lock() -> None:
    text = """GEM
  remote: https://rubygems.org/
  specs:
    nokogiri (1.16.0-x86_64-linux)
      racc (~> 1.4)
    racc (1.7.3)

PLATFORMS
  x86_64-linux

DEPENDENCIES
  nokogiri (~> 1.16)

RUBY VERSION
   ruby 3.3.0p0

BUNDLED WITH
   2.5.4
"""
    facts = read("Gemfile.lock", text)[0].facts
    assert [(fact.name, fact.version, fact.resolved, fact.direct, fact.line) for fact in facts] == [
        ("nokogiri", "~> 1.16", "1.16.0", True, 4), ("racc", "", "1.7.3", False, 6)
    ]  # fmt: skip
    assert runtimes("Gemfile.lock", text) == [("ruby", "3.3.0", 15), ("bundler", "2.5.4", 18)]


def test_composer() -> None:
    text = '{"require": {\n "php": ">=8.1",\n "ext-json": "*",\n "psr/log": "^3"},\n "require-dev": {"a/b": "1.*"}}'
    assert rows("composer.json", text) == [("psr/log", "^3", "", "runtime", 4), ("a/b", "1.*", "", "dev", 5)]
    assert runtimes("composer.json", text) == [("php", ">=8.1", 2), ("ext-json", "*", 3)]
    lock = '{"packages": [\n {"name": "psr/log", "version": "3.0.0"}],\n'
    lock += ' "packages-dev": [\n {"name": "a/b", "version": "1.2"}]}'
    assert rows("composer.lock", lock) == [("psr/log", "", "3.0.0", "runtime", 2), ("a/b", "", "1.2", "dev", 4)]


def test_msbuild() -> None:
    text = """<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup>
    <TargetFrameworks>net8.0;net48</TargetFrameworks>
    <JsonVersion>13.0.3</JsonVersion>
  </PropertyGroup>
  <ItemGroup>
    <PackageReference Include="Newtonsoft.Json" Version="$(JsonVersion)" />
    <PackageReference Include="Serilog"><Version>3.*</Version></PackageReference>
    <PackageReference Include="Analyzer" Version="1.0" PrivateAssets="all" />
    <PackageReference Include="Central" />
    <PackageReference Remove="Gone" />
  </ItemGroup>
</Project>
"""
    assert rows("src/Shop.csproj", text) == [
        ("Newtonsoft.Json", "$(JsonVersion)", "13.0.3", "runtime", 7),
        ("Serilog", "3.*", "", "runtime", 8),
        ("Analyzer", "1.0", "1.0", "dev", 9),
        ("Central", "", "", "runtime", 10),
    ]
    assert runtimes("src/Shop.csproj", text) == [("dotnet", "net8.0", 3), ("dotnet", "net48", 3)]


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        (".nvmrc", "v20.1.0\n", [("node", "v20.1.0", 1)]),
        (".node-version", "20", [("node", "20", 1)]),
        (".python-version", "3.12\n3.11\n", [("python", "3.12", 1), ("python", "3.11", 2)]),
        ("runtime.txt", "python-3.11.4\n", [("python", "3.11.4", 1)]),
        (".ruby-version", "ruby-3.3.0\n", [("ruby", "3.3.0", 1)]),
        (".tool-versions", "# asdf\nnodejs 20.1.0\npython 3.12.1\n", [("node", "20.1.0", 2), ("python", "3.12.1", 3)]),
        ("rust-toolchain", "1.75.0\n", [("rust", "1.75.0", 1)]),
        ("rust-toolchain.toml", '[toolchain]\nchannel = "nightly"\n', [("rust", "nightly", 2)]),
        ("global.json", '{"sdk": {\n "version": "8.0.100"}}', [("dotnet-sdk", "8.0.100", 2)]),
    ],
)
def test_runtimes(path: str, text: str, expected: list[tuple[str, str, int]]) -> None:
    assert runtimes(path, text) == expected


@pytest.mark.parametrize(
    ("path", "text", "reason"),
    [
        ("go.mod", "module a\nrequire (\n", "a block is not closed"),
        ("go.mod", "module a\nrequire b\n", "line 2 requires no module with a version"),
        ("go.mod", "<<<<<<< HEAD\n", "line 1 is no directive"),
        ("Cargo.toml", "[dependencies]\na = '1'\n", "neither a package nor a workspace"),
        ("Cargo.toml", "[package]\n[dependencies]\na = 1\n", "line 3 is no dependency"),
        ("Cargo.lock", "[[package]]\n", "a package has no name or version"),
        ("pom.xml", "<project>\n<a>\n", "not XML: line 3"),
        ("pom.xml", "<html/>", "not a Maven project"),
        ("pom.xml", '<!DOCTYPE p [<!ENTITY a "b">]><project>&a;</project>', "declares entities"),
        ("pom.xml", "<project>" + "<a>" * 1_000, "nested too deeply"),
        ("libs.versions.toml", '[libraries]\na = {module = "b:c", version.ref = "d"}\n',
         "line 2 refers to a version that is not there"),
        ("Gemfile.lock", "hello\n", "line 1 is no section of a lock file"),
        ("composer.json", '{"require": "a"}', "require is not an object"),
        ("composer.lock", "{}", "it has no packages"),
        ("a.csproj", "<Project", "not XML: line 1"),
        ("packages.config", "<a/>", "no list of packages"),
        (".nvmrc", "not a version\n", "line 1 is not a version"),
        (".python-version", "", "it states no version"),
        (".tool-versions", "nodejs\n", "line 1 is no tool with a version"),
    ],
)  # fmt: skip
def test_malformed_is_unparsed(path: str, text: str, reason: str) -> None:
    assert reason_of(path, text) == reason
