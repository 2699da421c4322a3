"""Which names are never read: secrets in every place, and nothing that only sounds like one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llama_index_codeindex.engine.errors import FileDenied
from llama_index_codeindex.engine.files.deny import _PATTERNS, is_denied, may_be_denied
from llama_index_codeindex.engine.files.gate import Gate
from llama_index_codeindex.engine.model import Gap, Source

from .conftest import Git
from .helpers import walked, write

SECRET = """
.env .env.local .env.production .env.development.local .envrc prod.env config/.env-staging .flaskenv config/master.key
id_rsa id_dsa id_ecdsa id_ed25519 deploy/id_ed25519_sk deploy_rsa ssh_host_ed25519_key server.pem tls.key cert.p12 cert.pfx
release.jks app.keystore vault.kdbx putty.ppk signing.p8 secring.gpg .npmrc .netrc _netrc .pypirc .pgpass .my.cnf
.git-credentials .htpasswd .dockercfg .docker/config.json .aws/credentials .kube/config kubeconfig credentials.json
credentials.csv client_secret.json client_secret_42.apps.googleusercontent.com.json service-account.json
my-project-service_account_key.json app-firebase-adminsdk-x1.json terraform.tfstate terraform.tfstate.backup prod.tfvars
secrets.yaml secrets.yml secrets.json secrets.production.yaml .secrets .secrets.toml secret.txt passwords.txt .vault_pass
.vault-token .s3cfg .boto .Renviron .terraformrc credentials.tfrc.json .cargo/credentials.toml .gem/credentials
.config/gh/hosts.yml .databrickscfg accessKeys.csv wallet.dat login.keychain krb5.keytab .bash_history .psql_history
.azure/accessTokens.json .gnupg/trustdb.gpg .ssh/deploy .streamlit/secrets.toml key.properties local.settings.json
api_key.txt private_key .smbcredentials office.ovpn wg0.conf application_default_credentials.json
""".split()

# A secret under the names that editors, browsers and people give to copies.
COPIES = [
    ".env.bak", ".env~", ".env.old", ".env.swp", "..env.swp", ".id_rsa.swp", "id_rsa.bak", "id_rsa.1", ".env copy", "#.env#",
    "credentials (1).json", "credentials copy.json", "server.pem.orig", "server.key.bak~", ".env.", ".env ",
]  # fmt: skip

INNOCENT = """
docs/secrets-handling.md services/secrets-manager/app/main.py secret_redaction.py otpauthsecret_v1/agg.go
tests/test_credentials.py credentials.go secrets.py secrets.rs secret.ts Secrets.java token.go tokens.css tokens.json
tokenizer.json .env.example .env.sample .env.template env.py environment.ts env/config.yaml id_rsa.pub id_rsa_test.go
sign_rsa.go rsa.py pem_reader.py pem/decode.rs key.py keys.go keyboard.json monkey.rb turkey.toml hotkey.ts private.key.ts
keystore.rs keychain.swift netrc.py npmrc.md vault.go password_reset.html passwords.php password.py config.json
docker/config.json kube/config aws/credentials.py history.md bash_history.rs tfstate.go variables.tf terraform.tf
service_account.go service_account_schema.json serviceaccount-crd.yaml known_hosts.py .ssh/known_hosts .ssh/config
credentials/README.md secrets/index.ts master.keymap public_key.py certificate.crt client_secret_rotation.py
auth.json .gitignore .editorconfig .envoy.yaml package.json database.yml terraform.tfvars.example secrets.example.yaml
credentials.sample.json git_history.bash environment copy.md
""".split()


def variants(path: str) -> list[str]:
    folder, _, name = path.rpartition("/")
    deep = [path, f"a/b/{path}", f"{folder + '/' if folder else ''}{name.upper()}"]
    return deep if folder else [*deep, f"packages/secret-service/{name}"]


@pytest.mark.parametrize("path", SECRET)
def test_secret_names_in_every_place_and_case(path: str) -> None:
    assert all(is_denied(variant) for variant in variants(path))


@pytest.mark.parametrize("path", COPIES)
def test_copies_of_secrets(path: str) -> None:
    assert is_denied(path)
    assert is_denied(f"deep/{path}")


@pytest.mark.parametrize("path", INNOCENT)
def test_innocent_names(path: str) -> None:
    assert not is_denied(path)
    assert not is_denied(f"secrets/.env.d/{path}")


def asks_about(path: str) -> bool:
    """Say whether the question about a whole folder leads to the one about this file."""
    folder, _, name = path.rpartition("/")
    raw = name.encode()
    return may_be_denied(folder + "/" if folder else "", b"\0a.py\0" + raw + b"\0", {b".py", raw[raw.rfind(b".") :]})


@pytest.mark.parametrize("path", [variant for path in (*SECRET, *COPIES) for variant in variants(path)])
def test_a_folder_with_a_secret_is_looked_at(path: str) -> None:
    assert asks_about(path)


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(
    name=st.from_regex(_PATTERNS, fullmatch=True, alphabet=st.characters(codec="utf-8", exclude_characters="/\0")),
    tail=st.sampled_from(["", ".bak", "~", " copy", ".1", " (2)", "_backup", ".swp"]),
    is_upper=st.booleans(),
)
def test_no_shape_of_a_secret_is_overlooked(name: str, tail: str, is_upper: bool) -> None:
    path = (name.upper() if is_upper else name) + tail
    assert asks_about(path) or not is_denied(path)


def test_letters_that_are_ascii_in_lower_case() -> None:
    assert is_denied("server.\N{KELVIN SIGN}EY")
    assert asks_about("server.\N{KELVIN SIGN}EY")


def test_a_folder_of_sources_is_not_looked_at() -> None:
    names = b"\0credentials.py\0secrets.go\0token.css\0"
    assert not may_be_denied("src/", names, {b".py", b".go", b".css"})
    assert not may_be_denied("", b"\0Makefile\0data.json\0notes.txt\0", {b"e", b".json", b".txt"})
    assert may_be_denied("a/.SSH/", names, {b".py", b".go", b".css"})


def test_tracked_secrets_never_pass_the_walk_or_the_gate(repo: Path, git: Git) -> None:
    write(repo, dict.fromkeys(SECRET, "canary-4f1c\n"))
    innocent = [path for path in INNOCENT if not path.startswith((".gitignore", ".codeindexignore"))]
    write(repo, dict.fromkeys(innocent, "harmless\n"))
    git(repo, "add", "--force", "--all")
    write(repo, {".codeindexignore": "".join(f"!{path}\n" for path in SECRET)})
    files, gaps = walked(repo)
    assert files == set(innocent)
    assert gaps == dict.fromkeys(SECRET, "denied")
    gate = Gate(repo.resolve())
    for path in SECRET:
        for spelling in (path, f"./{path}", f"{path}/.", f"{path}/x/..", f"a/../{path}", f"{path}//"):
            gap = gate.read(spelling)
            assert isinstance(gap, Gap)
            assert gap.reason == "denied"
            with pytest.raises(FileDenied) as caught:
                gate.require(spelling)
            assert "canary" not in str(caught.value.to_dict())
    assert all(isinstance(gate.read(path), Source) for path in innocent)
