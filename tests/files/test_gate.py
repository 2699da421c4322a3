"""The gate: decoding, line counts, binary and minified files, spellings of paths."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from llama_index_codeindex.engine.errors import (
    FileDenied,
    FileNotIndexed,
    PathOutsideRoot,
    RootNotDirectory,
    RootNotFound,
    RootTooBroad,
)
from llama_index_codeindex.engine.files.gate import Gate, make_source
from llama_index_codeindex.engine.files.jail import clean_path, open_inside, relative_path, resolve_root
from llama_index_codeindex.engine.model import Gap, Source

from .helpers import write

posix_only = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")


def source(data: bytes, path: str = "a.py") -> Source:
    made = make_source(path, data)
    assert isinstance(made, Source)
    return made


# -- decoding ----------------------------------------------------------------------------------------------------------

TEXT = "# naïve café — 中文\nx = 1\n"


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (TEXT.encode(), "utf-8"),
        (b"\xef\xbb\xbf" + TEXT.encode(), "utf-8"),
        (b"\xff\xfe" + TEXT.encode("utf-16-le"), "utf-16-le"),
        (b"\xfe\xff" + TEXT.encode("utf-16-be"), "utf-16-be"),
        (b"\xff\xfe\0\0" + TEXT.encode("utf-32-le"), "utf-32-le"),
    ],
)
def test_marked_and_plain_unicode(data: bytes, encoding: str) -> None:
    assert (source(data).text, source(data).encoding) == (TEXT, encoding)


OTHERS = {
    "latin-1": ["# café\n", "# El año pasado la función devolvía información errónea según la configuración\n" * 20],
    "cp1252": ["x = 'naïve – “quoted”'\n", "# Cette fonction vérifie où l'utilisateur a été créé\n" * 9],
    "iso-8859-15": ["// Größe prüfen, falls möglich\n"],
    "cp1250": ["# Sprawdź, czy użytkownik został już wcześniej zalogowany; źródło błędów\n" * 3],
    "cp1251": ["# Проверка пароля пользователя перед входом\n"],
    "koi8-r": ["# Проверка пароля пользователя перед входом\n"],
    "shift_jis": ["# ユーザーのパスワードを検証する関数です\n"],
    "euc_jp": ["# ユーザーのパスワードを検証する関数です\n"],
    "gbk": ["# 计算加班费用的函数，用户登录验证\n"],
    "big5": ["# 計算加班費用的函數，使用者登入驗證\n"],
    "euc_kr": ["# 사용자 비밀번호를 확인하는 함수입니다\n"],
}


@pytest.mark.parametrize(("encoding", "text"), [(name, text) for name, texts in OTHERS.items() for text in texts])
def test_other_encodings_are_guessed_and_flagged(encoding: str, text: str) -> None:
    made = source((text + "def f():\n    pass\n").encode(encoding))
    assert made.text == text + "def f():\n    pass\n"
    assert made.encoding.startswith("guessed:")


@pytest.mark.parametrize(
    "data",
    [
        b"ok = 1\n# bad \xff byte\nlast = 2\n",
        "# é è à ü ö ä ß ñ ç\n".encode() + b"# broken \xe9 here\nlast = 2\n",
        b"x = '\xed\xa0\x80'\nlast = 2\n",  # an encoded surrogate
        b"\xef\xbb\xbf# mark, then \xff\nlast = 2\n",
        bytes(range(1, 256)) + b"\nlast = 2\n",
        b"# cut \xe4\xb8\nlast = 2\n",
    ],
)
def test_invalid_bytes_never_abort_and_move_no_line(data: bytes) -> None:
    made = source(data)
    assert made.text.count("\n") == data.count(b"\n")
    assert made.text.split("\n")[-2] == "last = 2"
    made.text.encode()  # nothing is left that cannot be written


@pytest.mark.parametrize(
    "data",
    [
        b"a\0b",
        b"\x7fELF\x02\x01\x01\0",
        b"\xef\xbb\xbfa\0b",
        b"\xff\xfe" + b"\x01\0\0\0" * 9,
        "x = 1\n".encode("utf-16-le"),
    ],
)
def test_binary_by_nul(data: bytes) -> None:
    made = make_source("a.py", data)
    assert isinstance(made, Gap)
    assert made.reason == "binary"


def test_lines_are_those_of_grep(tmp_path: Path) -> None:
    text = 'def alpha():\n    pass\n\f\ndef beta():\n    x = "a\u2028b\x0b\x85\x1c"\n    TARGET = 1\r\nlast\n'
    write(tmp_path, {"a.py": text})
    found = subprocess.run(["grep", "-an", "TARGET", "a.py"], cwd=tmp_path, capture_output=True, check=True).stdout
    number = int(found.split(b":")[0])
    made = Gate(tmp_path.resolve()).read("a.py")
    assert isinstance(made, Source)
    assert "TARGET" in made.text.split("\n")[number - 1]


def test_empty_and_carriage_return_only_files_are_sources() -> None:
    assert source(b"").text == ""
    assert source(b"a = 1\rb = 2\r").text == "a = 1\rb = 2\r"


# -- long lines and generated text -------------------------------------------------------------------------------------


def test_minified_bundles_are_gaps() -> None:
    bundle = "".join(f"function f{n}(a,b){{return a+b+{n}}}" for n in range(20_000)).encode()
    began = time.perf_counter()
    made = make_source("app.js", bundle)
    assert isinstance(made, Gap)
    assert made.reason == "minified"
    assert time.perf_counter() - began < 1
    short = make_source("app.min.js", bundle[:3000])
    assert isinstance(short, Gap)


def test_one_long_line_drops_no_file() -> None:
    code = b"def a():\n    return 1\n" * 50
    literal = b'DATA = "' + b"A" * 15_000 + b'"\n'
    for path in ("a.py", "a.js", "a.css", "a.sql"):
        assert source(code + literal + code, path).text.count("\n") == 201
    assert source(b"x = [" + b"1, " * 50_000 + b"]\n", "table.py").text.startswith("x = [")


# -- the jail ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "../out.py", "a/../../out.py", "/etc/passwd", "..", "a/b/../../../x", "a\0b", "..\\out.py", "a\\..\\..\\out.py",
        "C:\\Windows\\win.ini", "C:/Windows/win.ini", "\\\\server\\share\\x", "\\x",
    ],
)  # fmt: skip
def test_spellings_that_leave_the_root(tmp_path: Path, path: str) -> None:
    write(tmp_path, ["root/a/b/c.py", "out.py"])
    gate = Gate((tmp_path / "root").resolve())
    with pytest.raises(PathOutsideRoot) as caught:
        gate.require(path)
    assert str(tmp_path) not in str(caught.value.to_dict())
    assert isinstance(gate.read(path), Gap)


@posix_only
def test_spellings_of_one_file(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(root, ["pkg/mod.py", "..data/x.py", "c:d.py", ".hidden/y.py"])
    (tmp_path / "link").symlink_to("root")
    gate = Gate(root.resolve())
    for spelling in (
        "pkg/mod.py", "./pkg/mod.py", "pkg//mod.py", "pkg/./mod.py", "pkg/x/../mod.py", "pkg\\mod.py", ".\\pkg\\mod.py",
        str(root.resolve() / "pkg" / "mod.py"), str(tmp_path / "link" / "pkg" / "mod.py"), str(root / "pkg/../pkg/mod.py"),
    ):  # fmt: skip
        assert gate.require(spelling).path == "pkg/mod.py"
    for path in ("..data/x.py", "c:d.py", ".hidden/y.py"):
        assert gate.require(path).path == path
        assert gate.require(str(root.resolve() / path)).path == path
    assert relative_path("") == relative_path(".") == ""
    assert relative_path(str(root.resolve()), root.resolve()) == ""
    assert clean_path("a/./b//c") == "a/b/c"


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    write(tmp_path, {"a/b.py": "x", "big.py": "x" * 200, "bin.py": b"\0", ".env": "A=1\n"})
    gate = Gate(tmp_path.resolve(), 100)
    for path, reason in {
        "gone.py": "unreadable", "a": "unreadable", "": "unreadable", "a/b.py/c": "unreadable", "x" * 400: "unreadable",
        "big.py": "too_large", "bin.py": "binary", ".env": "denied", "\ud800.py": "undecodable",
    }.items():  # fmt: skip
        gap = gate.read(path)
        assert isinstance(gap, Gap)
        assert gap.reason == reason, path
        assert str(tmp_path) not in gap.detail
        with pytest.raises((FileDenied, FileNotIndexed)):
            gate.require(path)


@posix_only
def test_a_file_exchanged_for_a_link_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path, ["root/a/x.py", "out/x.py"])
    root = (tmp_path / "root").resolve()
    os.close(open_inside(root, "a/x.py"))
    (root / "a" / "x.py").unlink()
    (root / "a").rmdir()
    (root / "a").symlink_to(tmp_path / "out")
    gap = Gate(root).read("a/x.py")
    assert isinstance(gap, Gap)
    assert gap.reason == "link_outside"


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    if not Path("/proc/self/fd").exists():
        pytest.skip("the system does not list open descriptors")
    write(tmp_path, {"a/b/c.py": "x", ".env": "x"})
    (tmp_path / "l").symlink_to("a")
    gate = Gate(tmp_path.resolve())
    before = len(os.listdir("/proc/self/fd"))
    for path in ("a/b/c.py", "a/b", "a/b/c.py/d", "gone/x", "l/b/c.py", ".env", "", "..", "a/b/gone") * 20:
        gate.read(path)
    assert len(os.listdir("/proc/self/fd")) == before


# -- roots -------------------------------------------------------------------------------------------------------------


def test_roots_that_cannot_be_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "people" / "me"
    write(home, ["project/a.py"])
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    for broad in (home, "~", home.parent, home / "project" / "..", Path(home.anchor)):
        with pytest.raises(RootTooBroad):
            resolve_root(broad)
    assert resolve_root(home, allow_broad=True) == home.resolve()
    assert resolve_root("~/project") == (home / "project").resolve()
    with pytest.raises(RootNotFound):
        resolve_root(home / "nowhere")
    with pytest.raises(RootNotDirectory):
        resolve_root(home / "project" / "a.py")


def test_spellings_of_one_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, ["root/a.py"])
    root = (tmp_path / "root").resolve()
    monkeypatch.chdir(root)
    spellings: list[str | Path] = [".", root, f"{root}/", "../root", str(root / "." / "..") + "/root"]
    if os.name != "nt":
        (tmp_path / "link").symlink_to("root")
        spellings.append(tmp_path / "link")
    assert {resolve_root(spelling) for spelling in spellings} == {root}
