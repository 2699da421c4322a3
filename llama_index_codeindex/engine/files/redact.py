"""Secrets inside ordinary files, replaced before any lane, chunk or answer sees them.

Only material that is what it looks like is touched: private-key blocks and tokens whose provider gave them a form.
The file on disk is never changed, and a replacement never changes the number of lines.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable

from llama_index_codeindex.engine.files.keyblocks import key_blocks

MARK = "[redacted]"

# A token starts a word, or follows an escape whose last letter only seems to belong to it (`\n`, `%3D`).
_EDGE = r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"
_END = r"(?![A-Za-z0-9])"

# Each form with the plain strings one of which it holds, mostly at its start, in a word of `_LONG` characters. A text
# without any of those holds no such token, and to look for them is many times faster. Lengths are the providers' own, or
# a little below.
_FORMS: tuple[tuple[str, str], ...] = (
    ("AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}(?![0-9A-Z])"),  # AWS access key id
    ("ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{30,255}"),  # GitHub
    ("github_pat_", r"github_pat_[A-Za-z0-9_]{40,255}"),
    ("glpat- glptt- gldt- glrt- glcbt- glsoat- glft-", r"gl(?:pat|ptt|dt|rt|cbt|soat|ft)-[A-Za-z0-9_\-.]{20,}"),  # GitLab
    ("xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xoxe.",  # Slack
     r"xox[abcdeoprs](?:\.xox[bp])?-(?=[A-Za-z0-9%\-]*\d)[A-Za-z0-9%\-]{15,}"),
    ("xapp-", r"xapp-\d-[A-Z0-9]+-\d+-[a-z0-9]+"),
    ("sk_live_ sk_test_ rk_live_ rk_test_ pk_live_ pk_test_", r"(?:sk|rk|pk)_(?:live|test)_[0-9A-Za-z]{16,}"),  # Stripe
    # OpenAI, Anthropic, OpenRouter: an unbroken run tells a key from a name made of words, such as a CSS class.
    ("sk-proj- sk-svcacct- sk-ant-", r"sk-(?:proj|svcacct|ant)-(?=[A-Za-z0-9_\-]*[A-Za-z0-9]{12})[A-Za-z0-9_\-]{16,}"),
    ("sk-admin- sk-or-",
     r"sk-(?:admin|or)-(?=[A-Za-z0-9_\-]*[A-Za-z0-9]{16})(?=[A-Za-z_\-]*\d)[A-Za-z0-9_\-]{20,}"),
    ("sk-", r"(?<!-)sk-(?=[A-Za-z]*\d)[A-Za-z0-9]{20,}(?![A-Za-z0-9\-])"),
    ("gsk_", r"gsk_[A-Za-z0-9]{40,}"),  # Groq
    ("xai-", r"xai-[A-Za-z0-9]{60,}"),
    ("pplx-", r"pplx-[A-Za-z0-9]{40,}"),  # Perplexity
    ("r8_", r"r8_[A-Za-z0-9]{37,40}" + _END),  # Replicate
    ("AIza", r"AIza[0-9A-Za-z_\-]{35}"),  # Google
    ("GOCSPX-", r"GOCSPX-[0-9A-Za-z_\-]{20,}"),
    ("ya29.", r"ya29\.[0-9A-Za-z_\-]{20,}"),
    ("npm_", r"npm_[A-Za-z0-9]{36}" + _END),
    ("pypi-AgE", r"pypi-AgE[A-Za-z0-9_\-]{50,}"),
    ("rubygems_", r"rubygems_[a-f0-9]{48}" + _END),
    ("dckr_pat_", r"dckr_pat_[A-Za-z0-9_\-]{20,}"),  # Docker Hub
    ("hf_", r"hf_[A-Za-z0-9]{34,40}" + _END),  # Hugging Face
    ("SG.", r"SG\.[A-Za-z0-9_\-]{16,32}\.[A-Za-z0-9_\-]{16,64}"),  # SendGrid
    ("key-", r"key-[0-9a-f]{32}" + _END),  # Mailgun
    ("-us0 -us1 -us2 -us3 -us4 -us5 -us6 -us7 -us8 -us9", r"[0-9a-f]{32}-us\d{1,2}" + _END),  # Mailchimp
    ("dop_v1_ doo_v1_ dor_v1_", r"do[opr]_v1_[a-f0-9]{64}"),  # DigitalOcean
    ("shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),  # Shopify
    ("sq0atp- sq0csp-", r"sq0(?:atp|csp)-[0-9A-Za-z_\-]{22,}"),  # Square
    ("dapi", r"dapi[a-f0-9]{32}(?:-\d)?" + _END),  # Databricks
    ("AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    ("hvs. hvb. hvr.", r"hv[sbr]\.[A-Za-z0-9_\-]{24,}"),  # Vault
    (".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_\-=]{60,}"),  # Terraform Cloud
    ("ATATT3", r"ATATT3[A-Za-z0-9_\-=]{100,}"),  # Atlassian
    ("lin_api_", r"lin_api_[A-Za-z0-9]{32,}"),  # Linear
    ("figd_", r"figd_[A-Za-z0-9_\-]{40,}"),  # Figma
    ("ntn_", r"ntn_[A-Za-z0-9]{40,}"),  # Notion
    ("NRAK-", r"NRAK-[A-Z0-9]{27}"),  # New Relic
    ("PMAK-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),  # Postman
    ("dp.pt. dp.st. dp.ct.", r"dp\.(?:pt|ct|st(?:\.[a-z0-9_\-]+)?)\.[A-Za-z0-9]{40,}"),  # Doppler
    ("pscale_", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_\-.]{32,}"),  # PlanetScale
    ("sbp_", r"sbp_[a-f0-9]{40}" + _END),  # Supabase
    ("tskey-", r"tskey-[a-z]+-[A-Za-z0-9]+-[A-Za-z0-9]{20,}"),  # Tailscale
    ("pul-", r"pul-[a-f0-9]{40}" + _END),  # Pulumi
    ("eyJ", r"eyJ[A-Za-z0-9_\-]{10,}\.eyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}"),  # JSON web token
    ("hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows)/[TA][A-Za-z0-9_/]{20,}"),
    ("discord.com/api/webhooks discordapp.com/api/webhooks", r"discord(?:app)?\.com/api/webhooks/\d{17,20}/[\w\-]{50,}"),
    ("whsec_", r"whsec_[0-9A-Za-z+/=]{24,}"),
    (":AA", r"\d{8,10}:AA[A-Za-z0-9_\-]{33}(?![A-Za-z0-9_\-])"),  # Telegram
    ("glsa_ glc_", r"(?:glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}|glc_[A-Za-z0-9+/=]{60,})"),  # Grafana
    ("sntrys_ sntryu_", r"(?:sntrys_[A-Za-z0-9+/=_]{60,}|sntryu_[a-f0-9]{64})"),  # Sentry
)  # fmt: skip

# The plain strings that their forms do not start with.
_INSIDE = frozenset((b".atlasv1.", b":AA", *(b"-us%d" % number for number in range(10))))

# Of these only the value is replaced, and it has no form but its length.
_NAMED = re.compile(
    r"(?:aws_?secret_?(?:access_?)?key|secretaccesskey)[\"']?\s{0,3}(?:[:=]|=>)\s{0,3}[\"']?"
    r"(?P<aws>[A-Za-z0-9/+=]{40})(?![A-Za-z0-9/+=])"
    r"|(?:accountkey|sharedaccesskey)=(?P<azure>[A-Za-z0-9+/]{40,}={0,2})",  # Azure storage and service bus
    re.IGNORECASE,
)
_NAMED_HINTS = (b"aws_secret", b"awssecret", b"secretaccesskey", b"accountkey=", b"sharedaccesskey=")
_NAMED_LONG = 40

_LONG = 20
_WORD_BYTES = (string.ascii_letters + string.digits + "_-.%/+=:").encode()
_AS_WORD = bytes(0x61 if byte in _WORD_BYTES else 0x20 for byte in range(256))


def _any_of(strings: Iterable[bytes]) -> bytes:
    """Return an expression for any of some strings, in which those that start alike share their start."""
    rest: dict[bytes, list[bytes]] = {}
    for one in strings:
        if not one:
            return b""
        rest.setdefault(one[:1], []).append(one[1:])
    branches = [re.escape(first) + _any_of(others) for first, others in rest.items()]
    return branches[0] if len(branches) == 1 else b"(?:" + b"|".join(branches) + b")"


def _compile(hints: str, form: str) -> tuple[tuple[bytes, ...], re.Pattern[str] | None, re.Pattern[str]]:
    """Return the plain strings of a form, an expression for them if it starts with one, and the expression of the form."""
    found = tuple(hints.encode().split())
    if not _INSIDE.isdisjoint(found):
        return found, None, re.compile(_EDGE + form)
    return found, re.compile(_any_of(found).decode()), re.compile(form)


_AT_EDGE = re.compile(_EDGE)
_COMPILED = tuple(_compile(*row) for row in _FORMS)
_ANY_HINT = re.compile(_any_of(hint for hints, _, _ in _COMPILED for hint in hints))


def redact(text: str) -> tuple[str, int]:
    """Return the text with secrets replaced by `[redacted]`, and how many there were."""
    count = 0
    if "PRIVATE KEY" in text:
        text, count = _without_key_blocks(text)
    data = text.encode("utf-8", "surrogatepass")
    words = _long_words(data)
    searched = b" ".join(words)
    if _ANY_HINT.search(searched):
        for hints, start, form in _COMPILED:
            if any(hint in searched for hint in hints):
                text, found = form.subn(MARK, text) if start is None else _without_tokens(text, start, form)
                count += found
    if any(len(word) >= _NAMED_LONG for word in words):
        lowered = data.lower()
        if any(hint in lowered for hint in _NAMED_HINTS):
            text, found = _NAMED.subn(_replace_value, text)
            count += found
    return text, count


def _long_words(data: bytes) -> set[bytes]:
    """Return the words that are long enough for a token, which are few."""
    shape = data.translate(_AS_WORD)
    words = set()
    start = shape.find(b"a" * _LONG)
    while start >= 0:
        end = shape.find(b" ", start)
        end = len(shape) if end < 0 else end
        words.add(data[start:end])
        start = shape.find(b"a" * _LONG, end)
    return words


def _without_tokens(text: str, start: re.Pattern[str], form: re.Pattern[str]) -> tuple[str, int]:
    """Replace tokens of a form; they are looked for by what they start with, because only plain strings are found fast."""
    pieces: list[str] = []
    position = count = 0
    found = start.search(text)
    while found is not None:
        at = found.start()
        token = form.match(text, at) if _AT_EDGE.match(text, at) else None
        if token is not None:
            pieces += (text[position:at], MARK)
            position = token.end()
            count += 1
        found = start.search(text, token.end() if token is not None else at + 1)
    return "".join(pieces) + text[position:], count


def _without_key_blocks(text: str) -> tuple[str, int]:
    pieces: list[str] = []
    position = count = 0
    for start, end in key_blocks(text):
        pieces += (text[position:start], _same_lines(text[start:end]))
        position = end
        count += 1
    return "".join(pieces) + text[position:], count


def _replace_value(match: re.Match[str]) -> str:
    secret = match["aws"] or match["azure"]
    return match[0][: -len(secret)] + MARK


def _same_lines(secret: str) -> str:
    """Return one mark for every line of the secret, with its line ends."""
    return "\n".join(MARK + ("\r" if line.endswith("\r") else "") for line in secret.split("\n"))
