"""What holds secrets: files by name, values by form, and what only looks like them."""

from __future__ import annotations

import base64
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse.text.secrets import _TOKEN_FORMATS, is_secret_file, mask_secrets, mask_secrets_in_text

FILES = """
.env .ENV .env.local .env.production .env.development .env.test .env-staging prod.env .envrc .dev.vars id_rsa ID_RSA
id_dsa id_ecdsa id_ed25519 id_rsa.bak deploy_rsa ssh_host_rsa_key server.pem server.key Server.KEY AuthKey_X1.p8
cert.p12 cert.pfx app.jks app.keystore passwords.kdbx putty.ppk client.ovpn krb5.keytab .netrc _netrc .authinfo .pgpass
.my.cnf .mylogin.cnf .git-credentials .npmrc .pypirc .dockercfg .docker/config.json .aws/credentials .aws/config
.config/gcloud/credentials.db application_default_credentials.json service-account.json my-service-account.json
service_account_prod.json app-firebase-adminsdk-x1.json client_secret_1.apps.json client_secrets.json credentials.json
credentials.yml credentials.xml credentials.toml secrets.yml secrets.yaml secrets.json secrets.toml secret.yaml
token.json .kube/config kubeconfig cluster.kubeconfig terraform.tfstate terraform.tfstate.backup terraform.tfvars
prod.auto.tfvars .terraformrc credentials.tfrc.json .vault-token .vault_pass .htpasswd .s3cfg .boto wp-config.php
wp-config.php.bak config/master.key rclone.conf local.settings.json .cargo/credentials.toml .cargo/credentials
.gem/credentials .m2/settings.xml .config/gh/hosts.yml .config/hub .composer/auth.json .databrickscfg .sentryclirc
.bash_history .zsh_history .mysql_history .psql_history .gnupg/secring.asc sftp-config.json .vscode/sftp.json
kaggle.json LocalSettings.php etc/shadow .ssh/identity .dbt/profiles.yml .password-store/mail.txt
.streamlit/secrets.toml .azure/accessTokens.json
"""

ORDINARY = """
.env.example .env.sample .env.template .env.local.example .env.dist .env.schema sample.env env.py src/env.ts env.d.ts
test_env.py environment.yml secrets.py secrets.md docs/secrets.md secrets_test.py test_secrets.json secret_manager.go
credentials.md credentials.py credentials.ts credentials.yml.enc token.go tokens.json token_test.go id_rsa.pub
id_ed25519.pub id_generator.py id_rsa.py rsa.py test_rsa.py keys.py key.go keyboard.js config config.json
.github/config.yml database.yml appsettings.json appsettings.Development.json nuget.config gradle.properties .yarnrc.yml
.gitconfig .editorconfig package.json locales/en/auth.json charts/web/templates/secrets.yaml main.tf variables.tf
terraform.tfvars.example vault.yml vault.hcl wp-config-sample.php service_account.py serviceaccount.yaml
client_secret.py history.md password_reset.html passwords.py profiles.yml hosts.yml settings.xml .dockerignore
docker-compose.yml kube/config.go aws/credentials.go .ssh/config google-services.json firebase.json pip.conf
"""


@pytest.mark.parametrize("path", FILES.split())
def test_a_file_of_secrets_is_known_by_its_name_wherever_it_lies(path: str) -> None:
    assert is_secret_file(path)
    assert is_secret_file(f"/home/ann/project/{path}")


@pytest.mark.parametrize("path", ORDINARY.split())
def test_an_ordinary_file_is_none(path: str) -> None:
    assert not is_secret_file(path)
    assert not is_secret_file(f"project/{path}")


# Put together when the tests run, lest somebody's scanner takes this file for a leak.
TOKENS = [
    ("AKIA", "IOSFODNN7EXAMPLE"),
    ("aws_secret_access_key = '", "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY12"),
    ("AIza", "SyA1234567890abcdefghijklmnopqrstuv"),
    ("ghp_", "a1B2" * 9),
    ("github_pat_", "a1B2_" * 16),
    ("glpat-", "a1B2-" * 4),
    ("xoxb-", "123456789012-123456789012-abcdefABCDEF"),
    ("hooks.slack.com/services/", "T00000000/B00000000/" + "x" * 24),
    ("sk_live_", "a1B2" * 6),
    ("sk-ant-api03-", "a1B2_" * 19),
    ("sk-proj-", "a" * 58 + "T3Blbk" + "FJ" + "b" * 58),
    ("hf_", "abCD" * 8 + "ef"),
    ("npm_", "a1B2" * 9),
    ("pypi-AgE", "IcHlwaS5vcmc" + "a1B2_" * 12),
    ("dop_v1_", "a1b2" * 16),
    ("hvs.", "a1B2_" * 20),
    ("SG.", "a1B2_a1B2_a1B2_a1B2_ab." + "a1B2_" * 8 + "abc"),
    ("shpat_", "a1b2" * 8),
    ("eyJ", "hbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.SflKxwRJSMeKKF2QT4fwpMeJf36POk6y"),
    ("AGE-SECRET-KEY-1", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L" * 2),
]


@pytest.mark.parametrize(
    ("shown", "hidden"), [(shown, hidden[:58] if "AGE" in shown else hidden) for shown, hidden in TOKENS]
)
def test_a_token_is_masked_behind_what_tells_its_kind(shown: str, hidden: str) -> None:
    text = f"line one\n  value: {shown}{hidden}\nline three"
    assert mask_secrets_in_text(text) == (f"line one\n  value: {shown}{'*' * len(hidden)}\nline three", 1)


BODY = [base64.b64encode(bytes(range(at, at + 48))).decode() for at in range(0, 192, 48)]
BEGIN, END = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"
KEY = "\n".join([BEGIN, *BODY, "abc=", END])
STARS = "\n".join([BEGIN, *["*" * 64] * 4, "****", END])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"before\n{KEY}\nafter", f"before\n{STARS}\nafter"),
        (f"before\r\n{KEY}\r\nafter".replace("\n", "\r\n"), f"before\r\n{STARS}\r\nafter".replace("\n", "\r\n")),
        *((f"{mark}{KEY}".replace("\n", f"\n{mark}"), f"{mark}{STARS}".replace("\n", f"\n{mark}")) for mark in "+- "),
        (f"    {KEY}".replace("\n", "\n    "), f"    {STARS}".replace("\n", "\n    ")),
        ("\n".join(KEY.split("\n")[:3]), "\n".join(STARS.split("\n")[:3])),  # cut off
        ("\n".join(KEY.split("\n")[3:]), "\n".join(STARS.split("\n")[3:])),  # where a diff begins in it
    ],
)
def test_the_body_of_a_private_key_is_masked_and_its_lines_stay(text: str, expected: str) -> None:
    assert mask_secrets_in_text(text) == (expected, 1)


def test_a_private_key_in_one_line_is_masked() -> None:
    text = '{"private_key": "' + KEY.replace("\n", "\\n") + '", "project": "x"}'
    found, count = mask_secrets_in_text(text)
    assert count == 1 and len(found) == len(text)
    assert not any(line in found for line in BODY)
    assert found.startswith('{"private_key": "' + BEGIN) and found.endswith(END + '", "project": "x"}')


@pytest.mark.parametrize("width", [20, 37, 64, 90])
@pytest.mark.parametrize("joint", ["\n", "\n    ", '" +\n  "', "\\n\n  "])
def test_a_private_key_is_masked_however_its_lines_are_broken(width: int, joint: str) -> None:
    body = "".join(BODY)
    parts = [body[at : at + width] for at in range(0, len(body), width)]
    text = f"key = {joint.join([BEGIN, *parts, END])}, after"
    found, count = mask_secrets_in_text(text)
    assert count == 1 and len(found) == len(text) and found.endswith(f"{END}, after")
    assert not any(part in found for part in parts)


def test_the_headers_of_an_encrypted_key_do_not_save_its_body() -> None:
    text = KEY.replace("\n", "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,AB12\n\n", 1)
    assert not any(line in mask_secrets_in_text(text)[0] for line in BODY)


@pytest.mark.parametrize(
    "text",
    [
        f'if line.startswith("{BEGIN}"):\n    return parse_the_private_key_of_this_service(line)\nEND = "{END}"',
        "https://user:password@example.org/",
        "sha256:" + "a1" * 32,
        "commit 0123456789abcdef0123456789abcdef01234567",
        "AKIA is how such keys begin, and ghp_ or sk_live_ how others do; npm_config_cache is a variable",
        "data:image/png;base64," + "iVBORw0KGgoAAAANSUhEUgAAAAUA" * 4,
        "-----BEGIN PUBLIC KEY-----\n" + "\n".join(BODY) + "\n-----END PUBLIC KEY-----",
        "-----BEGIN CERTIFICATE-----\n" + "\n".join(BODY) + "\n-----END CERTIFICATE-----",
    ],
)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert mask_secrets_in_text(text) == (text, 0)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_other_encodings_hide_nothing(encoding: str) -> None:
    data, count = mask_secrets(f"key: ghp_{'a1B2' * 9} ü".encode(encoding))
    assert (data.decode(encoding), count) == (f"key: ghp_{'*' * 36} ü", 1)


@given(st.text(), st.sampled_from(TOKENS), st.text())
def test_masking_keeps_every_line_and_column(before: str, token: tuple[str, str], after: str) -> None:
    text = f"{before} {''.join(token)} {after}"
    found, count = mask_secrets_in_text(text)
    assert count >= 1 and len(found) == len(text)
    assert [len(it) for it in found.split("\n")] == [len(it) for it in text.split("\n")]
    assert mask_secrets_in_text(found)[0] == found


@pytest.mark.parametrize(("shown", "hidden"), _TOKEN_FORMATS)
@settings(max_examples=5)
@given(st.data())
def test_every_form_in_the_table_is_found(shown: str, hidden: str, data: st.DataObject) -> None:
    """Also those that the quick look for their signs decides on."""
    form = re.compile(f"(?:{shown})(?:{hidden})", re.ASCII)
    assert mask_secrets_in_text(f"x = {data.draw(st.from_regex(form, fullmatch=True))}\n")[1] == 1


@given(st.binary(max_size=200))
def test_any_bytes_are_taken(data: bytes) -> None:
    assert len(mask_secrets(data)[0]) == len(data) or data[:2] in (b"\xff\xfe", b"\xfe\xff")
