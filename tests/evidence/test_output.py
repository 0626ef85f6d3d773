"""Secrets: which names, and how their values are taken out of a stream."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from phase_gate.evidence.process.output import Blotter, find_secrets, is_secret_name

SECRET_NAMES = (
    *("GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "DB_PASSWORD", "PGPASSWORD", "MYSQL_PWD"),
    *("npm_config__authToken", "OPENAI_API_KEY", "OPENAI_APIKEY", "SSH_PRIVATE_KEY", "PHASE_GATE_KEY"),
    *("BASIC_AUTH", "SESSION_COOKIE", "SENTRY_DSN", "GH_PAT", "GOOGLE_CREDENTIALS", "GPG_PASSPHRASE", "SECRET"),
)
OTHER_NAMES = (
    *("PATH", "PWD", "OLDPWD", "HOME", "LANG", "KEYBOARD", "MONKEY", "AUTHOR", "GIT_AUTHOR_NAME", "COMPATIBILITY"),
    *("SSH_AUTH_SOCK", "AWS_SHARED_CREDENTIALS_FILE", "PASSWORD_STORE_DIR", "PYTEST_CURRENT_TEST", "PATTERN"),
)


def test_names_of_secrets() -> None:
    assert [name for name in SECRET_NAMES if not is_secret_name(name)] == []
    assert [name for name in OTHER_NAMES if is_secret_name(name)] == []


def test_short_values_would_blot_out_everything() -> None:
    assert find_secrets({"A_TOKEN": "12345", "B_TOKEN": "", "C_TOKEN": "123456", "D": "long enough"}) == (b"123456",)


def test_the_lines_of_a_key_are_secret_each() -> None:
    key = "-----BEGIN KEY-----\nAAAAAAAAAAAAAAAAAAAAAAAA\nBBBBBBBBBBBBBBBBBBBBBBBB\n-----END KEY-----\n"
    blotter = Blotter(find_secrets({"PRIVATE_KEY": key}))
    text = f"{key}|BBBBBBBBBBBBBBBBBBBBBBBB|-----BEGIN KEY-----|".encode()
    assert blotter.feed(text) + blotter.finish() == b"***\n|***|-----BEGIN KEY-----|"


SECRETS = (b"ababab-long", b"ababab", b"bababx", b"aaaaaa")


def blotted(pieces: list[bytes]) -> bytes:
    blotter = Blotter(SECRETS)
    return b"".join([*(blotter.feed(piece) for piece in pieces), blotter.finish()])


@given(st.lists(st.sampled_from([b"a", b"b", b"ab", b"-long", b"x", b"\n", b"ababab", b"aaa", b"-"]), max_size=14))
def test_however_it_comes_no_secret_is_shown(pieces: list[bytes]) -> None:
    shown = blotted(pieces)
    assert not any(secret in shown for secret in SECRETS)
    whole = b"".join(pieces)
    if not any(secret[:6] in whole for secret in SECRETS):
        assert shown == whole, "what is no secret is shown as it is"


def test_the_rest_of_the_longer_one_is_not_shown() -> None:
    assert blotted([b"1 ababab", b"-lo", b"ng 2"]) == b"1 *** 2"
    assert blotted([b"1 ababab", b"-lo", b"st 2"]) == b"1 ***-lost 2"
