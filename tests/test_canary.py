"""A canary in forty secret-looking files appears nowhere; forty innocent look-alikes are all found."""

from __future__ import annotations

import json
import logging
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from llama_index_codeindex import CodeEmbedding, CodeIndex, CodeIndexToolSpec, CodeReader
from llama_index_codeindex.cli import main
from tests.conftest import MakeTree
from tests.dense.server import EmbeddingServer, running

CANARY = "zanzibar_canary_7431"
SECRET = """
.env .env.production .env.local config/.env prod.env .envrc .netrc _netrc .npmrc .pypirc .pgpass .my.cnf .git-credentials
.htpasswd .dockercfg .s3cfg .boto .vault-token .terraformrc .Renviron .secrets secrets.yaml secrets.json k8s/secrets.yml
config/master.key server.pem tls/private.key store.jks cert.p12 cert.pfx vault.kdbx id_rsa id_ed25519 deploy_rsa
.aws/credentials .kube/config .docker/config.json credentials.json client_secret.json service-account.json
terraform.tfstate prod.tfvars .bash_history id_rsa.bak .ENV
""".split()
INNOCENT = """
.env.example env.py environment.ts src/dotenv.go secrets-handling.md services/secrets-manager/app/main.py
secret_redaction.py otpauthsecret_v1/agg.go tests/test_credentials.py credentials.py credential_store.rs token.py tokens.json
tokenizer.go keys.py keyboard.ts key_manager.java private_key.py public.key.md password_reset.rb passwords.py auth.ts
ssh_client.py id_rsa.py rsa.go pem_parser.c certificate.md npmrc_reader.js netrc.py pgpass.rb tfstate_reader.go
vault/client.py keystore.kt history.py bash_history.md docker/config.go kube/config.yaml aws/credentials.py
environment.prod.ts secretsmanager.tf secret_key_test.py
""".split()


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with running() as started:
        yield started


def words_of(number: int) -> str:
    return "beacon" + "abcdefghij"[number // 10] + "klmnopqrst"[number % 10] + "x"


def test_no_lane_tool_log_or_file_holds_the_canary(
    tree: MakeTree,
    tmp_path: Path,
    server: EmbeddingServer,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    assert len(SECRET) >= 40 and len(INNOCENT) >= 40
    files = dict.fromkeys(SECRET, f"{CANARY} = 1\n")
    files |= {path: f"{words_of(number)} = 1\n" for number, path in enumerate(INNOCENT)}
    # Inside ordinary files, what is recognisable is redacted, and its neighbours stay.
    files["settings.py"] = f"TOKEN = 'ghp_{CANARY.replace('_', '0')}{'a' * 30}'\nNEIGHBOUR = 'keepsake'\n"
    files["keys.txt"] = f"-----BEGIN RSA PRIVATE KEY-----\n{'QUJD' * 16}\n-----END RSA PRIVATE KEY-----\nafterwards\n"
    root = tree(files)
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    subprocess.run(["git", "-C", str(root), "add", "-f", "."], check=True)  # tracked, and denied all the same

    model = CodeEmbedding(api_base=server.url, model_name="m", num_workers=1)
    index = CodeIndex.from_path(root, cache_dir=tmp_path / "cache", embed_model=model)
    tools = CodeIndexToolSpec(index=index)
    seen: list[str] = [
        str(index.search(CANARY).to_dict()),
        str(tools.search_code(CANARY)),
        str(tools.find_symbol(CANARY)),
    ]
    seen += [str(tools.read_lines(path, 1, 5)) for path in SECRET]
    seen += [str(gap) for gap in index.gaps()]
    seen += [document.text for document in CodeReader(root=root).load_data()]
    assert main(["pack", str(root), CANARY, "--cache-dir", str(tmp_path / "cache"), "--embed", "none"]) == 1
    assert (
        main(
            [
                "search",
                str(root),
                f"where is {CANARY}",
                "--json",
                "--cache-dir",
                str(tmp_path / "cache"),
                "--embed",
                "none",
            ]
        )
        == 1
    )
    captured = capsys.readouterr()
    seen += [captured.out, captured.err, caplog.text, json.dumps(server.requests)]
    everything = "\n".join(seen)
    for form in (CANARY + " = 1", CANARY.replace("_", "0"), "QUJDQUJD"):
        assert form not in everything
    for kept in (tmp_path / "cache").rglob("*"):
        if kept.is_file():
            data = kept.read_bytes()
            assert b"canary" not in data and b"QUJDQUJD" not in data, kept.name
            assert b"zanzibar" not in data, kept.name

    denied = {gap.path for gap in index.gaps() if gap.reason == "denied"}
    assert denied == set(SECRET)
    for number, path in enumerate(INNOCENT):
        assert index.search(words_of(number), mode="all").hits[0].file_path == path
    assert index.search("keepsake").hits[0].file_path == "settings.py"
    assert index.search("afterwards").hits[0].file_path == "keys.txt"
