"""Which files are never read, whatever any rule or switch says: those whose name says that they hold secrets.

A rule looks at the base name and its suffixes, at most together with the folder's own name (`.aws/credentials`), never
at other parts of the path: `services/secrets-manager/app/main.py` is source. Names are compared without case.
"""

from __future__ import annotations

import re
from collections.abc import Set

_NAMES = frozenset(
    """
    .env .envrc .flaskenv .netrc _netrc .npmrc .pypirc .pgpass pgpass.conf .my.cnf .mylogin.cnf .git-credentials
    .htpasswd .htdigest .dockercfg .dockerconfigjson .s3cfg .boto .vault-token .vault_pass .vault_password
    .vault-password vault_pass vault_pass.txt vault_password vault_password.txt .ansible_vault_pass
    .terraformrc terraform.rc .renviron .secrets .secret .credentials .passwd .authinfo .msmtprc .fetchmailrc .rclone.conf
    rclone.conf .ftpconfig sftp-config.json .remote-sync.json filezilla.xml recentservers.xml sitemanager.xml
    kubeconfig .kubeconfig master.key secret_key_base local.settings.json key.properties keystore.properties
    signing.properties token.json .token .tokens .api_key .apikey .accesstoken .access_token credential credentials
    .bash_history .zsh_history .sh_history .python_history .psql_history .mysql_history .sqlite_history .irb_history
    .node_repl_history .rediscli_history .lesshst .esmtprc .smbcredentials .pgpassfile .databrickscfg .snowsql
    credentials.tfrc.json adc.json rootkey.csv auth.token wallet.dat htpasswd chap-secrets pap-secrets wpa_supplicant.conf
    private_key privatekey privkey token.txt api_key.txt api-key.txt apikey.txt access_token.txt auth_token.txt password.txt
    secring.gpg .passwd-s3fs .vault_token .yarnrc.private .secrets.baseline .doppler.yaml .sentryclirc .cloudflared.json
    application_default_credentials.json
    """.split()
)

# What a secret-holding file of such a stem ends in; source and prose of the same stem (`secrets.py`, `.md`) is read.
_STEMS = frozenset("secret secrets credential credentials passwords passwd private_key private-key privatekey".split())
_DATA_SUFFIXES = frozenset("yaml yml json toml ini cfg conf properties env xml txt csv enc kdb db plist tfvars".split())

_SUFFIXES = tuple(
    """
    .env .pem .key .p8 .p12 .pfx .pkcs12 .pkcs8 .jks .jceks .bks .keystore .truststore .kdb .kdbx .ppk .agekey .gpg .pgp
    .tfstate .tfvars .tfvars.json .ovpn .mobileprovision .keychain .keychain-db .kubeconfig .keytab .wallet .asc.key
    .pkpass .psafe3 .agilekeychain .opvault .bek .snk .publishsettings .rdp .credentials .secret .secrets
    """.split()
)

# Samples that a repository ships on purpose. What they hold is still searched for key material.
_SAMPLE = re.compile(
    r"[.\-_](?:example|sample|template|tmpl|dist|defaults?|schema)s?$|^(?:example|sample|template)[.\-_]"
    r"|[.\-_](?:example|sample|template|tmpl|dist|schema)s?\.(?:ya?ml|json|toml|ini|env|properties|txt|cfg|conf|xml|tfvars)$"
)

_PATTERNS = re.compile(
    r"""
    \.env\..+ | \.env[-_].+ | \.envrc\..+                   # .env.production, .env-local
    | id_(?:rsa|dsa|ecdsa|ed25519|ed448|xmss)(?:_sk)?       # ssh's own names
    | [^.]+[-_.](?:rsa|dsa|ecdsa|ed25519)                   # deploy_rsa; with a suffix it is source (sign_rsa.go)
    | ssh_host_[a-z0-9]+_key
    | client[-_]?secrets?(?:[-_.].*)?\.json
    | (?:.*[-_.])?service[-_]?account
      (?:[-_.]?(?:keys?|file|credentials?|creds|secret|token|prod(?:uction)?|dev|staging|\d+))*\.json
    | (?:.*-)?firebase-adminsdk(?:-.*)?\.json | (?:sa|gcp|gcs|gcloud|google)[-_]?(?:service[-_]?)?key\.json
    | secrets?[-_.][^.]+\.(?:ya?ml|json|toml|ini|env|properties)  # secrets.production.yaml
    | \.secrets\..+ | .*\.tfstate\..+
    | (?:aws|gcp|gcloud|azure|google|oauth|db|database|api)[-_]?(?:credentials|secrets)\.(?:json|ya?ml|ini|csv|txt|toml)
    | (?:.*[-_])?(?:accesskeys?|rootkey|credentials)\.csv | wg\d+\.conf
    """,
    re.VERBOSE,
)

_BELOW: dict[str, re.Pattern[str]] = {
    # ~/.config/gcloud and the like are committed by mistake as whole folders.
    ".aws": re.compile(r"credentials.*|config"),
    ".bundle": re.compile(r"config"),
    ".azure": re.compile(r".*\.json|.*\.bin"),
    ".cargo": re.compile(r"credentials(?:\.toml)?"),
    ".composer": re.compile(r"auth\.json"),
    ".codex": re.compile(r"auth\.json"),
    ".docker": re.compile(r"config\.json"),
    ".gem": re.compile(r"credentials"),
    ".gnupg": re.compile(r".*"),
    ".gradle": re.compile(r"gradle\.properties"),
    ".kube": re.compile(r"config.*"),
    ".m2": re.compile(r"settings(?:-security)?\.xml"),
    ".nuget": re.compile(r"nuget\.config"),
    ".ssh": re.compile(r"(?!.*\.pub$|known_hosts|config$|authorized_keys).*"),
    ".streamlit": re.compile(r"secrets\.toml"),
    "gcloud": re.compile(r"(?:access_tokens|credentials)\.db|legacy_credentials.*"),
    "gh": re.compile(r"hosts\.yml"),
    "hub": re.compile(r"hosts\.yml"),
}

# What editors, browsers and people add to a name: `id_rsa.bak`, `.env~`, `credentials (1).json`, `.env copy`.
_BACKUP = re.compile(
    r"(?:\.(?:bak|backup|old|orig|save|saved|swp|swo|tmp|copy|\d{1,2})|~|[. ]+|[ _-]+(?:copy|backup|\(\d+\)))$"
)
_COPY = re.compile(r"(?: \(\d+\)| - copy| copy(?: \d+)?)(?=\.[^.]+$)")

# Of these suffixes nothing is denied, whatever its stem: most files of a repository are decided by this alone.
_SOURCE_SUFFIXES = frozenset(
    """
    py pyi js jsx mjs cjs ts tsx vue svelte java kt kts scala go rs c h cc cpp cxx hpp hh cs fs vb swift m mm rb php pl pm
    lua ex exs erl hs ml clj dart jl r sh bash zsh ps1 sql css scss less html htm md rst adoc proto graphql gradle cmake
    """.split()
)

# Every denied name has one of these words, which are runs of letters, or one of these parts, or lies in a folder of
# `_BELOW`: so a folder is mostly decided by one look at the words of its names. Of a listed name or suffix, any of its
# words will do; the first that is not short is seldom met elsewhere.
_TO_WORDS = bytes(byte if chr(byte).isalpha() else 0x20 for byte in range(128)).lower().ljust(256)
_PARTS = b"secret credential passw account key wg".split()
_WORDS = frozenset(b"rsa dsa ecdsa ed xmss firebase".split()).union(
    next((word for word in words if len(word) > 2), words[0])
    for words in (entry.encode().translate(_TO_WORDS).split() for entry in (*_NAMES, *_SUFFIXES, *_STEMS))
)
_SOURCE_ENDS = frozenset(f".{suffix}".encode() for suffix in _SOURCE_SUFFIXES)


def may_be_denied(folder: str, names: bytes, suffixes: Set[bytes]) -> bool:
    """Say whether any file of a folder may be denied; if not, `is_denied` need not be asked.

    Args:
        folder: The folder's path, with a trailing slash unless empty.
        names: The files' names, which are UTF-8, a NUL around each.
        suffixes: What each of them has from its last dot on.
    """
    if folder and folder.lower().rsplit("/", 2)[-2] in _BELOW:
        return True
    if suffixes <= _SOURCE_ENDS and b"\0." not in names and b"\0#" not in names:
        return False
    if not names.isascii():
        names = names.decode().lower().encode()  # a few letters of other alphabets are ASCII in lower case
    words = names.translate(_TO_WORDS)
    return not _WORDS.isdisjoint(words.split()) or any(part in words for part in _PARTS)


def is_denied(path: str) -> bool:
    """Say whether a file of this relative POSIX path is never read."""
    name = path[path.rfind("/") + 1 :]
    if name[0:1] not in (".", "#") and name[name.rfind(".") + 1 :] in _SOURCE_SUFFIXES and "." in name:
        return False
    *folders, name = path.lower().rsplit("/", 2)[-2:]
    folder = folders[0] if folders else ""
    if name.startswith(".") and name.endswith((".swp", ".swo")) and is_denied_name(name[1:-4], folder):
        return True  # vim's swap file of `.env` is `..env.swp`; of `id_rsa`, `.id_rsa.swp`
    if name.startswith(("#", ".#")):  # Emacs: `#.env#`, `.#.env`
        name = name.lstrip(".").strip("#")
    while True:
        if is_denied_name(name, folder):
            return True
        shorter = _BACKUP.sub("", _COPY.sub("", name))
        if shorter == name or not shorter:
            return False
        name = shorter


def is_denied_name(name: str, folder: str = "") -> bool:
    """Say whether a lower-case base name, in a folder of the given name, is that of a secret-holding file."""
    if name in _NAMES:
        return True
    below = _BELOW.get(folder)
    if below is not None and below.fullmatch(name):
        return True
    if _SAMPLE.search(name):
        return False
    if name.endswith(_SUFFIXES) and not name.endswith((".pub", ".pub.key")):
        return True
    stem, _, suffix = name.rpartition(".")
    if suffix in _SOURCE_SUFFIXES and not name.startswith("."):
        return False
    if stem.lstrip(".") in _STEMS and suffix in _DATA_SUFFIXES:
        return True
    return _PATTERNS.fullmatch(name) is not None
