"""Detection of secrets: files by name, values by format.

Names are compared without case. Values are tokens with a distinctive format, taken from the rules of gitleaks
(github.com/gitleaks/gitleaks, MIT licence) that need no entropy estimate. Values are masked byte by byte, so that lines
and columns do not move.
"""

from __future__ import annotations

import codecs
import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

SECRET_RULES_VERSION: Final = 1
"""Increment with every change of the tables below, so that indexed files are read again."""
HELD_BACK_REASON: Final = "held back: files with this name hold secrets"

# --- files ----------------------------------------------------------------------------------------

_SECRET_NAMES: Final = (
    ".env .envrc .dev.vars .netrc _netrc .authinfo .pgpass pgpass.conf .my.cnf .mylogin.cnf .git-credentials .npmrc"
    " .pypirc .dockercfg .dockerconfigjson .htpasswd .htdigest .s3cfg .boto .passwd-s3fs .smbcredentials"
    " .cifscredentials .vault-token .vault_pass .vault_pass.txt .vault_password .vault-password vault_pass"
    " vault_pass.txt vault_password vault_password.txt vault-password.txt .ansible_vault_pass"
    " application_default_credentials.json access_tokens.db accesstokens.json msal_token_cache.json"
    " service_principal_entries.json client_secrets.json token.json id_token access_token refresh_token"
    " kubeconfig kubeconfig.yml kubeconfig.yaml kubeconfig.json .terraformrc terraform.rc credentials.tfrc.json"
    " rclone.conf .rclone.conf .curlrc .wgetrc .msmtprc .fetchmailrc .esmtprc .databrickscfg .sentryclirc .tugboat"
    " local.settings.json settings-security.xml wp-config.php localsettings.php secret_token.rb"
    " credentials-config.json otr.private_key kaggle.json sitemanager.xml recentservers.xml filezilla.xml"
    " sftp-config.json .ftpconfig .remote-sync.json robomongo.json .dbshell fish_history"
)
_EXACT_NAMES: Final = frozenset(_SECRET_NAMES.split())
_SECRET_NAME_PATTERN: Final = re.compile(
    r"\.env[.\-_].+|.+\.env|\.dev\.vars\..+"
    r"|.+\.(?:pem|key|p8|p12|pfx|pkcs12|jks|jceks|bcfks|keystore|keytab|kdb|kdbx|psafe3|ppk|pvk|agekey|ovpn"
    r"|kubeconfig|publishsettings|keychain|keychain-db|tfvars|tfvars\.json)"
    r"|.+\.tfstate(?:\..+)?"
    # Public keys end in .pub, and source files about keys have other suffixes.
    r"|id_(?:rsa|dsa|ecdsa|ecdsa_sk|ed25519|ed25519_sk|xmss)(?:[_-][^.]*)?(?:\.(?:bak|old|orig|txt|priv|private))?"
    r"|ssh_host_[a-z0-9_]+_key|[^.]+_(?:rsa|dsa|ecdsa|ed25519)"
    r"|(?:credentials?|secrets?)\.(?:json|ya?ml|toml|ini|xml|properties|conf|cfg)"
    r"|(?:.+[._-])?service[_-]?account(?:[._-].+)?\.json|(?:.+-)?firebase-adminsdk.*\.json|client[_-]secret.*\.json"
    r"|wp-config\.php[.~].*|\.(?:bash|zsh|sh|ksh|mysql|psql|sqlite|rediscli|python|node_repl|irb|pry)_history"
)
# Exceptions to the pattern: files that list the names of values without the values.
_EXAMPLE_NAME: Final = re.compile(
    r"(?:^|[._-])(?:examples?|samples?|templates?|tmpl|tpl|dist|defaults?|schema)(?:[._-]|$)"
)
# Names that are secret only below these directories.
_SECRET_BELOW: Final[dict[str, tuple[str, ...]]] = {
    "credentials": (".aws", ".gem", ".cargo"),
    "config": (".aws", ".kube", ".bundle", ".snowsql"),
    "config.json": (".docker",),
    "config.yml": ("glab-cli", ".fly"),
    "config.yaml": ("doctl",),
    "auth.json": (".composer", ".config/composer", ".codex", "containers"),
    "connections.toml": (".snowflake",),
    "profiles.yml": (".dbt",),
    "hosts.yml": (".config/gh",),
    "hub": (".config",),
    "settings.xml": (".m2",),
    "gradle.properties": (".gradle",),
    "sftp.json": (".vscode",),
    "identity": (".ssh",),
    "shadow": ("etc",),
    "gshadow": ("etc",),
    "admin.conf": ("kubernetes",),
}
_SECRET_FOLDERS: Final = ("/.gnupg/", "/.password-store/", "/.aws/sso/cache/", "/.config/gcloud/", "/.subversion/auth/")
_HELM_TEMPLATES: Final = "/templates"  # in Helm charts, secrets.yaml holds names and no values


def is_secret_file(path: str) -> bool:
    """Return whether files of this name hold secrets. Pass as much of the path as is known: directories matter."""
    path = "/" + path.lower().lstrip("/")
    directory, _, name = path.rpartition("/")
    if name in _EXACT_NAMES or any(it in path for it in _SECRET_FOLDERS):
        return True
    if name in _SECRET_BELOW:
        return directory.endswith(tuple(f"/{it}" for it in _SECRET_BELOW[name]))
    if _SECRET_NAME_PATTERN.fullmatch(name) is None or _EXAMPLE_NAME.search(name):
        return False
    return not (name.endswith((".yaml", ".yml")) and directory.endswith(_HELM_TEMPLATES))


# --- values ---------------------------------------------------------------------------------------

# Pairs of a visible prefix and the part to mask.
_TOKEN_FORMATS: Final = (
    (r"\b(?:AKIA|ASIA|ABIA|ACCA)", r"[A-Z2-7]{16}\b"),
    (r"(?i:secret_?access_?key)[\"']?[ \t]{0,3}[=:][ \t]{0,3}[\"']?", r"[A-Za-z0-9/+]{40,}"),
    (r"\bABSK", r"[A-Za-z0-9+/]{50,}={0,2}"),
    (r"\bLTAI", r"[A-Za-z0-9]{20}\b"),
    (r"", r"\b[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"),
    (r"\bAIza", r"[A-Za-z0-9_-]{35}"),
    (r"\bGOCSPX-", r"[A-Za-z0-9_-]{28}"),
    (r"\bya29\.", r"[A-Za-z0-9_-]{20,}"),
    (r"gh[pousr]_", r"[A-Za-z0-9]{36,}"),
    (r"github_pat_", r"[A-Za-z0-9_]{22,}"),
    (r"gl(?:pat|dt|ptt|rt|cbt|ffct|ft|imt|agent|oas|soat)-", r"[A-Za-z0-9_.-]{20,}"),
    (r"GR1348941", r"[A-Za-z0-9_-]{20}"),
    (r"\bATBB", r"[A-Za-z0-9]{32}\b"),
    (r"\bATATT3", r"[A-Za-z0-9_=-]{50,}"),
    (r"\bxox[abeoprs](?:\.xox[bp])?-", r"[A-Za-z0-9-]{10,}"),
    (r"\bxapp-", r"[0-9]-[A-Z0-9]{6,}-[0-9]+-[a-z0-9]+"),
    (r"hooks\.slack\.com/(?:services|workflows|triggers)/", r"[A-Za-z0-9+/]{40,}"),
    (r"discord(?:app)?\.com/api/webhooks/", r"[0-9]{17,20}/[A-Za-z0-9_-]{50,}"),
    (r"\.webhook\.office\.com/webhookb2/", r"[a-z0-9@/-]{50,}(?:/[A-Za-z]+/[a-z0-9/-]{50,})?"),
    (r"\b(?:sk|rk)_(?:live|test|prod)_", r"[A-Za-z0-9]{10,}"),
    (r"\bwhsec_", r"[A-Za-z0-9+/]{32,}={0,2}"),
    (r"\bsk-ant-[a-z]{3,8}[0-9]{2}-", r"[A-Za-z0-9_-]{50,}"),
    (r"\bsk-(?:proj-|svcacct-|admin-)?", r"[A-Za-z0-9_-]{20,}T3BlbkFJ[A-Za-z0-9_-]{20,}"),
    (r"\b(?:hf|api_org)_", r"[A-Za-z]{34}\b"),
    (r"\bpplx-", r"[A-Za-z0-9]{48}\b"),
    (r"\bgsk_", r"[A-Za-z0-9]{52}\b"),
    (r"\bnpm_", r"[A-Za-z0-9]{36}\b"),
    (r"\bpypi-AgE", r"[A-Za-z0-9_-]{50,}"),
    (r"\brubygems_", r"[a-f0-9]{48}\b"),
    (r"\bCLOJARS_", r"[a-z0-9]{60}\b"),
    (r"\bdo[opr]_v1_", r"[a-f0-9]{64}\b"),
    (r"\bdapi", r"[a-f0-9]{32}(?:-[0-9])?\b"),
    (r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.", r"[A-Za-z0-9._-]{40,}"),
    (r"\bdt0[a-z][0-9]{2}\.", r"[A-Z0-9]{24}\.[A-Z0-9]{64}\b"),
    (r"\bduffel_(?:test|live)_", r"[A-Za-z0-9_=-]{43}"),
    (r"\bEZ[AT]K", r"[A-Za-z0-9]{54}\b"),
    (r"\bfo1_", r"[A-Za-z0-9_-]{43}"),
    (r"\bfm(?:1[ar]|2)_", r"[A-Za-z0-9+/]{50,}={0,3}"),
    (r"\bglc_", r"[A-Za-z0-9+/]{32,}={0,3}"),
    (r"\bglsa_", r"[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}\b"),
    (r"\b[A-Za-z0-9]{14}\.atlasv1\.", r"[A-Za-z0-9_=-]{50,}"),
    (r"\bHRKU-AA", r"[A-Za-z0-9_-]{58}"),
    (r"\bhv[sbr]\.", r"[A-Za-z0-9_-]{24,}"),
    (r"\blin_(?:api|oauth)_", r"[A-Za-z0-9]{40,}\b"),
    (r"\bntn_", r"[0-9]{11}[A-Za-z0-9]{35}\b"),
    (r"\bsecret_", r"[A-Za-z0-9]{43}\b"),
    (r"\bpat", r"[A-Za-z0-9]{14}\.[a-f0-9]{64}\b"),
    (r"\bpscale_(?:tkn|oauth|pw)_", r"[A-Za-z0-9_=.-]{32,}"),
    (r"\bPMAK-", r"[a-f0-9]{24}-[a-f0-9]{34}\b"),
    (r"\bpul-", r"[a-f0-9]{40}\b"),
    (r"\bSG\.", r"[A-Za-z0-9_-]{20,24}\.[A-Za-z0-9_-]{39,50}"),
    (r"\bxkeysib-", r"[a-f0-9]{64}-[A-Za-z0-9]{16}\b"),
    (r"\bsntrys_", r"[A-Za-z0-9+/=_-]{50,}"),
    (r"\bsntryu_", r"[a-f0-9]{64}\b"),
    (r"\bshp(?:at|ca|pa|ss)_", r"[A-Fa-f0-9]{32}\b"),
    (r"\bshippo_(?:live|test)_", r"[A-Fa-f0-9]{40}\b"),
    (r"\bsgp_", r"(?:[A-Fa-f0-9]{16}_|local_)?[A-Fa-f0-9]{40}\b"),
    (r"\bsq0(?:atp|csp)-", r"[A-Za-z0-9_-]{22,}"),
    (r"\bsha256~", r"[A-Za-z0-9_-]{43}\b"),
    (r"\bAGE-SECRET-KEY-1", r"[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}"),
    (r"\bA3-[A-Z0-9]{6}-", r"(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}\b"),
    (r"\bops_eyJ", r"[A-Za-z0-9+/]{50,}={0,3}"),
    (r"\beyJ", r"[A-Za-z0-9_-]{15,}\.eyJ[A-Za-z0-9_-]{15,}(?:\.[A-Za-z0-9_-]{10,})?"),
    (r"(?i:<add key=\"(?:cleartext)?password\"[ \t]{1,3}value=\")", r"[^\"\r\n]{8,}"),
)
# A private key as found in files, string literals and diffs: runs of base64, with separators and a marker on each line.
_KEY_GAP: Final = r"(?:\n[+-]|[\s\"',;>|*#\\])*"
_KEY_HEADERS: Final = rf"(?:{_KEY_GAP}(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash):[^\r\n\\]{{0,100}})*"
_BASE64_RUNS: Final = rf"[A-Za-z0-9+/=]{{32,}}(?:{_KEY_GAP}[A-Za-z0-9+/=]{{16,}})*"
_LAST_KEY_LINES: Final = rf"(?:{_KEY_GAP}[A-Za-z0-9+/=]{{1,20}}){{0,3}}{_KEY_GAP}-----END"
_KEY_KIND: Final = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
# The same with arbitrary line breaks. Program code between the two marks contains other characters.
_ANY_KEY_TEXT: Final = r"(?:\n[+-]|[A-Za-z0-9+/=\s\"',;>|*#\\.])*"
_WHOLE_KEY: Final = rf"{_ANY_KEY_TEXT}[A-Za-z0-9+/=]{{16,}}{_ANY_KEY_TEXT}-----END"
_PRIVATE_KEYS: Final = (
    (rf"-----BEGIN {_KEY_KIND}", rf"{_KEY_HEADERS}(?:{_WHOLE_KEY}|{_KEY_GAP}{_BASE64_RUNS})"),
    (r"", rf"{_BASE64_RUNS}{_LAST_KEY_LINES} {_KEY_KIND}"),  # the end of a key whose start a diff omits
)
_KEY_TAIL: Final = re.compile(rb"-----END[A-Z0-9 -]*\Z")
_KEY_CHARACTERS: Final = re.compile(rb"^[^\s+-]|(?<!^)[^\s]", re.MULTILINE)
# Every value contains one of these. Searching them first is faster for many small texts such as diffs: a few formats
# begin with arbitrary letters, which makes RE2 visit many states.
_SECRET_HINTS: Final = (
    r"AKIA|ASIA|ABIA|ACCA|(?i:secret_?access_?key)|ABSK|LTAI|[0-9]Q~[A-Za-z0-9_~.-]{8}|AIza|GOCSPX-|ya29\."
    r"|gh[pousr]_|github_pat_|gl[a-z]{2,5}-|GR1348941|ATBB|ATATT3|xox[abeoprs]|xapp-|hooks\.slack|api/webhooks/"
    r"|webhookb2|[sr]k_(?:live|test|prod)_|whsec_|sk-ant-|T3BlbkFJ|hf_[A-Za-z]{34}|api_org_|pplx-|gsk_"
    r"|npm_[A-Za-z0-9]{36}|pypi-AgE|rubygems_|CLOJARS_|do[opr]_v1_|dapi[a-f0-9]{8}|dp\.[a-z]{2,5}\.|dt0[a-z]|duffel_"
    r"|EZ[AT]K|fo1_|fm(?:1[ar]|2)_|glc_|glsa_|\.atlasv1\.|HRKU-|hv[sbr]\.|lin_(?:api|oauth)_|ntn_"
    r"|secret_[A-Za-z0-9]{43}|pat[A-Za-z0-9]{14}\.|pscale_|PMAK-|pul-[a-f0-9]{8}|SG\.[A-Za-z0-9_-]{20}|xkeysib-"
    r"|sntry[su]_|shp(?:at|ca|pa|ss)_|shippo_|sgp_|sq0|sha256~|AGE-SECRET|A3-[A-Z0-9]{6}-|\.eyJ|ops_eyJ"
    r"|(?i:password\"[ \t]{1,3}value=)|PRIVATE KEY(?: BLOCK)?-----"
)
_BYTE_ORDER_MARKS: Final = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


def mask_secrets(data: bytes) -> tuple[bytes, int]:
    """Mask every known value. Return data of the same length and the number of values."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            text, count = mask_secrets_in_text(data[len(mark) :].decode(encoding, "replace"))
            return (mark + text.encode(encoding), count) if count else (data, 0)
    if _hint_regex().search(data) is None:
        return data, 0
    parts: list[bytes] = []
    done = 0
    for start, end, hidden in _find_secrets(data):
        parts += (data[done:start], hidden)
        done = end
    return (b"".join((*parts, data[done:])), len(parts) // 2) if parts else (data, 0)


def mask_secrets_in_text(text: str) -> tuple[str, int]:
    data, count = mask_secrets(text.encode("utf-8", "surrogatepass"))
    return (data.decode("utf-8", "surrogatepass"), count) if count else (text, 0)


def _find_secrets(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield (start, end, replacement) for each value."""
    for found in _secret_regex().finditer(data):
        start, end = found.end(found.lastindex), found.end()
        if found.lastindex <= len(_PRIVATE_KEYS):
            tail = _KEY_TAIL.search(data, start, end)
            end = tail.start() if tail else end
            yield start, end, _KEY_CHARACTERS.sub(b"*", data[start:end])
        else:
            yield start, end, b"*" * (end - start)


@cache
def _hint_regex() -> Any:  # noqa: ANN401 - an untyped library
    return _compile_secret_regex(_SECRET_HINTS)


@cache
def _secret_regex() -> Any:  # noqa: ANN401 - an untyped library
    return _compile_secret_regex("|".join(f"({shown}){hidden}" for shown, hidden in (*_PRIVATE_KEYS, *_TOKEN_FORMATS)))


def _compile_secret_regex(pattern: str) -> Any:  # noqa: ANN401 - an untyped library
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = 64 << 20
    return re2.compile(pattern.encode("ascii"), options)
