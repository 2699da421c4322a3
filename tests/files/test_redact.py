"""Secrets inside ordinary files. Every value here is made up, and assembled so that no scanner takes it for real."""

from __future__ import annotations

import hashlib
import random
import string
from pathlib import Path

import pytest

from llama_index_codeindex.engine.files.gate import Gate
from llama_index_codeindex.engine.files.redact import MARK, redact
from llama_index_codeindex.engine.model import Source

from .helpers import write

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"


def rand(length: int, letters: str = ALNUM, seed: int = 1) -> str:
    generator = random.Random(f"{seed}{length}{letters}")
    return "".join(generator.choice(letters) for _ in range(length - 1)) + letters[-1]


TOKENS = {
    "aws id": "AK" + "IA" + rand(16, string.ascii_uppercase + string.digits),
    "github": "gh" + "p_" + rand(36),
    "github fine": "github" + "_pat_" + rand(22) + "_" + rand(59),
    "gitlab": "gl" + "pat-" + rand(20),
    "slack": "xo" + "xb-" + "123456789012-1234567890123-" + rand(24),
    "stripe": "sk" + "_live_" + rand(24),
    "openai": "sk" + "-" + rand(48),
    "openai project": "sk" + "-proj-" + rand(40) + "_" + rand(20) + "-" + rand(20),
    "anthropic": "sk" + "-ant-" + "api03-" + rand(60) + "-" + rand(20),
    "openrouter": "sk" + "-or-" + "v1-" + rand(64, HEX),
    "google": "AI" + "za" + rand(35),
    "npm": "np" + "m_" + rand(36),
    "pypi": "py" + "pi-" + "AgEIcHlwaS5vcmc" + rand(80),
    "hugging face": "h" + "f_" + rand(34, string.ascii_letters),
    "sendgrid": "S" + "G." + rand(22) + "." + rand(43),
    "telegram": "123456789:" + "AA" + rand(33),
    "groq": "gs" + "k_" + rand(52),
    "age": "AGE-SECRET" + "-KEY-1" + rand(58, string.ascii_uppercase + string.digits),
    "jwt": "ey" + "J" + rand(20) + ".ey" + "J" + rand(40) + "." + rand(43),
    "digitalocean": "do" + "p_v1_" + rand(64, HEX),
    "slack hook": "hooks.slack" + ".com/services/T" + rand(8) + "/B" + rand(8) + "/" + rand(24),
}

BODY = "\n".join(rand(64, ALNUM + "+/", seed) for seed in range(12)) + "\n" + rand(30) + "=="


def pem(label: str = "RSA PRIVATE KEY", body: str = BODY) -> str:
    return f"-----BEGIN {label}-----\n{body}\n-----END {label}-----"


@pytest.mark.parametrize("name", TOKENS)
@pytest.mark.parametrize(
    "shape",
    ["key = '{}'", "{}", "KEY={}\nx = 1", '{{"k":"{}"}}', "curl -H 'X: {}' # c\r\ny", '"a\\n{}\\n"', "?t%3D{}&u"],
)
def test_tokens_are_redacted_wherever_they_stand(name: str, shape: str) -> None:
    secret = TOKENS[name]
    text, count = redact(shape.format(secret))
    assert count == 1
    assert text == shape.format(MARK)


@pytest.mark.parametrize(
    "line",
    [
        "aws_secret_access_key = {}", 'AWS_SECRET_ACCESS_KEY="{}"', '"SecretAccessKey": "{}"', "awsSecretKey => '{}'",
    ],
)  # fmt: skip
def test_values_that_only_their_name_gives_away(line: str) -> None:
    secret = rand(40, ALNUM + "+/")
    assert redact(line.format(secret)) == (line.format(MARK), 1)


LITERALS = {
    "plain": pem(),
    "pkcs8": pem("PRIVATE KEY"),
    "encrypted": pem("ENCRYPTED PRIVATE KEY"),
    "openssh": pem("OPENSSH PRIVATE KEY"),
    "pgp": pem("PGP PRIVATE KEY BLOCK", "Version: 1\n\n" + BODY + "\n=abcd"),
    "headers": pem(body="Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00FF\n\n" + BODY),
    "CRLF": pem().replace("\n", "\r\n"),
    "indented": pem().replace("\n", "\n      "),
    "one literal": 'KEY = "' + pem().replace("\n", "\\n") + '\\n"',
    "twice escaped": '{"k": "' + pem().replace("\n", "\\\\n") + '"}',
    "joined literals": 'k = ("' + pem().replace("\n", '\\n"\n     "') + '")',
    "added literals": "var k = '" + pem().replace("\n", "\\n' +\n  '") + "';",
    "comment": "# " + pem().replace("\n", "\n# "),
    "block comment": " * " + pem().replace("\n", "\n * "),
    "diff": "+" + pem().replace("\n", "\n+"),
    "builder": 'b.append("' + pem().replace("\n", '\\n");\nb.append("') + '");',
    "short body": pem(body="c4n4ry-7f3a9b21"),
    "cut off": "-----BEGIN PRIVATE KEY-----\n" + BODY,
}


@pytest.mark.parametrize("name", LITERALS)
def test_private_keys_in_every_dress(name: str) -> None:
    text = f"first = 1\n{LITERALS[name]}\nlast = 2\n"
    clean, count = redact(text)
    assert count == 1
    assert clean.count("\n") == text.count("\n")
    assert clean.count("\r") == text.count("\r")
    for line in (*BODY.split("\n"), "c4n4ry-7f3a9b21"):
        assert line not in clean
    assert clean.startswith("first = 1\n")
    assert clean.endswith("last = 2\n")
    assert clean.split("\n").index("last = 2") == text.split("\n").index("last = 2")


def test_two_keys_are_two_secrets_and_what_is_between_stays() -> None:
    clean, count = redact(f"{pem()}\nbetween = 1\n{pem('EC PRIVATE KEY')}\n")
    assert count == 2
    assert "between = 1" in clean


HARMLESS = [
    # code that deals with keys
    'if "-----BEGIN RSA PRIVATE KEY-----" in text:\n    raise ValueError(text)\nEND = "-----END RSA PRIVATE KEY-----"\n',
    'BEGIN = "-----BEGIN PRIVATE KEY-----"\nEND = "-----END PRIVATE KEY-----"\n',
    'pem = "-----BEGIN PRIVATE KEY-----\\n" + body + "\\n-----END PRIVATE KEY-----"',
    "f'-----BEGIN PRIVATE KEY-----\\n{key_material}\\n-----END PRIVATE KEY-----'",
    "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
    pem("CERTIFICATE"),
    pem("PUBLIC KEY"),
    # names and classes
    "task-abcdefghij1234567890abcdefghij", "sk-chasing-dot sk-fading-circle12 sk-cube-grid", "#sk-container-id-12 { }",
    "sk-admin-panel-navigation-container-v2", "risk-1234567890abcdefghij1234567890", "disk-usage-monitor-service-2024",
    ".btn-sk-abcdefghij0123456789abcdefghij { }", "hf_AutoModelForCausalLM", "hf_" + rand(20),
    "pk_test_primary_key_constraint", "npm_config_registry npm_lifecycle_event npm_package_version", "ghp_", "xoxb-your-token",
    "mask_AKIA_LIKE", "AKIAIOSFODNN", "eyJhbGciOiJIUzI1NiJ9", "SG.mail.send", "sk-ant-your-api-key-here", "dapi/v2/list",
    # hashes and ids
    "sha512-" + rand(86, ALNUM + "+/") + "==", 'integrity = "sha256-' + rand(43, ALNUM + "+/") + '="',
    hashlib.sha256(b"x").hexdigest(), "550e8400-e29b-41d4-a716-446655440000", "checksum = " + rand(64, HEX),
    "secret_key = os.environ['AWS_SECRET_ACCESS_KEY']", "aws_secret_access_key = var.aws_secret_access_key",
]  # fmt: skip


@pytest.mark.parametrize("text", HARMLESS)
def test_near_misses_stay_as_they_are(text: str) -> None:
    assert redact(text) == (text, 0)


def test_lock_files_stay_as_they_are() -> None:
    lines = [f'"pkg-{n}@1.0": "sha512-{rand(86, ALNUM + "+/", n)}==", {rand(64, HEX, n)}' for n in range(3000)]
    text = "\n".join(lines)
    assert redact(text) == (text, 0)


def test_the_gate_redacts_and_leaves_the_file(tmp_path: Path) -> None:
    content = f"A = 1\n{pem()}\nTOKEN = '{TOKENS['github']}'\nB = 2\n"
    write(tmp_path, {"settings.py": content})
    source = Gate(tmp_path.resolve()).read("settings.py")
    assert isinstance(source, Source)
    assert source.redactions == 2
    assert source.text.split("\n").index("B = 2") == content.split("\n").index("B = 2")
    assert TOKENS["github"] not in source.text
    assert (tmp_path / "settings.py").read_text() == content


@pytest.mark.parametrize(
    "filler", ["-----BEGIN RSA PRIVATE KEY-----\n", "sk-", "eyJ", "AKIA", "SG.a", "a" * 50 + "-us"]
)
def test_cost_stays_linear(filler: str) -> None:
    import time

    text = filler * (400_000 // len(filler))
    began = time.perf_counter()
    redact(text)
    assert time.perf_counter() - began < 5
