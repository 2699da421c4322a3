"""Secrets inside ordinary files, replaced before any lane, chunk or answer sees them.

Only material that is what it looks like is touched: private-key blocks and tokens whose provider gave them a form.
The file on disk is never changed, and a replacement never changes the number of lines.
"""

from __future__ import annotations

import re

MARK = "[redacted]"

_KEY_BLOCK = re.compile(
    r"-----BEGIN (?P<label>[A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?)-----"
    # To the matching end, or as far as the lines still look like a key's body.
    r"(?:(?s:.{0,20000}?)-----END (?P=label)-----|(?:[^\S\n]*(?:\\n)?\n?[^\S\n]*[\"']?[A-Za-z0-9+/=:,\- ]{16,}[\"'\\+,;]*)*)"
)

_EDGE = r"(?<![A-Za-z0-9_])"
_TOKENS = re.compile(
    "|".join(
        (
            _EDGE + r"(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}(?![0-9A-Z])",  # AWS access key id
            r"(?i:aws_?secret_?(?:access_?)?key)[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?P<aws>[A-Za-z0-9/+=]{40})(?![A-Za-z0-9/+=])",
            _EDGE + r"gh[pousr]_[A-Za-z0-9]{30,255}",  # GitHub
            _EDGE + r"github_pat_[A-Za-z0-9_]{40,255}",
            _EDGE + r"gl(?:pat|ptt|dt|rt|cbt|soat|ft)-[A-Za-z0-9_\-]{20,}",  # GitLab
            _EDGE + r"xox[abeoprs]-[A-Za-z0-9\-]{10,}",  # Slack
            _EDGE + r"xapp-\d-[A-Z0-9]+-\d+-[a-z0-9]+",
            r"hooks\.slack\.com/services/T[A-Za-z0-9_/]{20,}",
            _EDGE + r"(?:sk|rk|pk)_(?:live|test)_[0-9A-Za-z]{16,}",  # Stripe
            _EDGE + r"whsec_[0-9A-Za-z+/=]{24,}",
            _EDGE + r"sk-(?:proj|svcacct|admin|ant|or)-[A-Za-z0-9_\-]{16,}",  # OpenAI, Anthropic, OpenRouter
            _EDGE + r"sk-(?=[A-Za-z0-9]*\d)[A-Za-z0-9]{20,}(?![A-Za-z0-9\-])",
            _EDGE + r"AIza[0-9A-Za-z_\-]{35}",  # Google
            _EDGE + r"GOCSPX-[0-9A-Za-z_\-]{20,}",
            _EDGE + r"ya29\.[0-9A-Za-z_\-]{20,}",
            _EDGE + r"npm_[A-Za-z0-9]{36}",
            _EDGE + r"pypi-AgEIcHlwaS5vcmc[A-Za-z0-9_\-]{16,}",
            _EDGE + r"hf_[A-Za-z0-9]{30,}",
            _EDGE + r"SG\.[A-Za-z0-9_\-]{16,32}\.[A-Za-z0-9_\-]{16,64}",  # SendGrid
            _EDGE + r"do[opr]_v1_[a-f0-9]{64}",  # DigitalOcean
            _EDGE + r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}",  # Shopify
            _EDGE + r"dapi[a-f0-9]{32}",  # Databricks
            _EDGE + r"AGE-SECRET-KEY-1[0-9A-Z]{58}",
            _EDGE + r"\d{8,10}:AA[A-Za-z0-9_\-]{33}(?![A-Za-z0-9_\-])",  # Telegram
            _EDGE + r"hvs\.[A-Za-z0-9_\-]{24,}",  # Vault
            _EDGE + r"lin_api_[A-Za-z0-9]{32,}",
            _EDGE + r"eyJ[A-Za-z0-9_\-]{10,}\.eyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}",  # JSON web token
            r"(?i:AccountKey)=[A-Za-z0-9+/]{80,}={0,2}",  # Azure storage
        )
    )
)

# A text with none of these holds no token, and looking for plain substrings is many times faster than the expression.
_HINTS = (
    "AKIA ASIA ABIA ACCA ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- glptt- gldt- glrt- glcbt- glsoat- glft- xoxa- xoxb- "
    "xoxe- xoxo- xoxp- xoxr- xoxs- xapp- hooks.slack.com sk_live_ sk_test_ rk_live_ rk_test_ pk_live_ pk_test_ whsec_ "
    "sk- AIza GOCSPX- ya29. npm_ pypi-AgEI hf_ SG. dop_v1_ doo_v1_ dor_v1_ shpat_ shpca_ shppa_ shpss_ dapi "
    "AGE-SECRET-KEY- :AA hvs. lin_api_ eyJ AccountKey= accountkey="
).split()
_AWS_HINT = re.compile(r"aws_?secret", re.IGNORECASE)


def redact(text: str) -> tuple[str, int]:
    """Return the text with secrets replaced by `[redacted]`, and how many there were."""
    count = 0
    if "PRIVATE KEY" in text:
        text, count = _KEY_BLOCK.subn(lambda match: _same_lines(match[0]), text)
    if any(hint in text for hint in _HINTS) or _AWS_HINT.search(text):
        text, tokens = _TOKENS.subn(_replace_token, text)
        count += tokens
    return text, count


def _replace_token(match: re.Match[str]) -> str:
    secret = match["aws"]
    if secret is None:
        return _same_lines(match[0])
    return match[0][: -len(secret)] + MARK


def _same_lines(secret: str) -> str:
    """Return one mark for every line of the secret, with its line ends."""
    return "\n".join(MARK + ("\r" if line.endswith("\r") else "") for line in secret.split("\n"))
