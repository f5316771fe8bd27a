"""No planted secret and no path of the machine gets through, whatever stands around it."""

import string
import time

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from oda.message.redaction import MAX_LENGTH, redact

LETTERS = string.ascii_letters + string.digits

secrets = st.text(LETTERS, min_size=16, max_size=48).map(lambda text: f"k3y{text}")
words = st.lists(
    st.sampled_from(
        ["request", "failed:", "401", "模型", "(see", "docs)", "model=gpt-4o", "—", "é"]
    ),
    max_size=6,
).map(" ".join)

NOTATIONS = (
    "api_key={}",
    "api-key: {}",
    "apikey={}",
    "apiKey: '{}'",
    '"api_key": "{}"',
    "{{'api_key': '{}'}}",
    "x-api-key: {}",
    "X-Goog-Api-Key: {}",
    "ODA_MODEL_API_KEY={}",
    "OPENAI_API_KEY = '{}'",
    "access_token={}&x=1",
    "client_secret={}",
    "password={}",
    "pwd: {}",
    "Authorization: {}",
    "Authorization: Bearer {}",
    '"authorization": "Bearer {}"',
    "Proxy-Authorization: Basic {}",
    "bearer {}",
    "sk-{}",
    "sk-proj-{}",
    "sk-ant-api03-{}",
    "ghp_{}",
    "github_pat_{}",
    "glpat-{}",
    "gsk_{}",
    "hf_{}",
    "xai-{}",
    "xoxb-{}",
    "AIza{}",
    "AKIA{}",
    "oda_{}",
    "eyJ{}.eyJzdWIi.c2ln",
    "https://user:{}@example.com/v1",
    "postgresql+psycopg://oda:{}@db:5432/oda",
    "redis://:{}@cache:6379/0",
    "https://api.example.com/v1?api_key={}",
)


@given(words, st.sampled_from(NOTATIONS), secrets, words)
def test_secret_in_any_notation_is_hidden(
    before: str, notation: str, secret: str, after: str
) -> None:
    shown = redact(f"{before} {notation.format(secret)} {after}")
    assert secret not in shown
    assert secret[:8] not in shown
    assert "***" in shown


@pytest.mark.parametrize(
    "notation",
    [
        "Authorization: Token {}",
        "aws_secret_access_key={}",
        "SECRET_KEY={}",
        "Incorrect API key provided: {}",
        "API key: {}",
        "--api-key {}",
        'password="some,{}"',
        "postgresql://oda:p@ss{}@db/oda",
    ],
)
def test_secret_in_a_rarer_notation_is_hidden(notation: str) -> None:
    secret = "9944b09199c62bcf9418ad846dd0e4bb"
    assert secret not in redact(f"it failed: {notation.format(secret)}")


names = st.text(LETTERS + "_-.", min_size=1, max_size=12).filter(lambda name: name.strip("."))
paths = st.lists(names, min_size=2, max_size=6)


@given(words, st.sampled_from(['{}', '"{}"', "'{}'", "({})", "file://{}", "path={}", "in {}:12"]),
       paths)  # fmt: skip
def test_absolute_path_is_hidden(before: str, notation: str, steps: list[str]) -> None:
    path = "/" + "/".join(steps)
    shown = redact(f"{before} {notation.format(path)}")
    assert path not in shown
    assert "<path>" in shown


@given(paths)
def test_path_below_the_home_or_on_a_drive_is_hidden(steps: list[str]) -> None:
    for path in (f"~/{'/'.join(steps)}", "C:\\" + "\\".join(steps)):
        assert redact(f"cannot open {path}") == "cannot open <path>"


@pytest.mark.parametrize("path", ["/home/Ada Lovelace/cv.txt", "C:\\Program Files\\oda\\cv.txt"])
def test_quoted_path_with_spaces_is_hidden_whole(path: str) -> None:
    assert path[-6:] not in redact(f"No such file or directory: '{path}'")


@pytest.mark.parametrize(
    "text",
    [
        "check ODA_MODEL_API_KEY or the provider's own key variable",
        "ODA_MODEL_API_KEY is not set",
        "set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY",
        "POST https://api.example.com/v1/chat/completions answered 503",
        "either/or, and/or 3/4",
        "the token limit is 4096; max_tokens=12",
        "task-runner and risk-assessment of sk-learn",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact(text) == text


@given(st.text(max_size=2000))
@example("a" * 501)
@example("\u2028second line")
def test_result_is_one_short_line(text: str) -> None:
    shown = redact(text)
    assert len(shown) <= MAX_LENGTH == 500
    assert len(shown.splitlines()) <= 1
    assert shown == shown.strip() or len(shown) == MAX_LENGTH


@given(words, words)
def test_only_the_first_line_with_words_is_shown(first: str, second: str) -> None:
    assume(first.strip())
    assert redact(f"\n  \n{first}\n{second}") == redact(first)


@pytest.mark.parametrize("piece", ["a.", "-eyJa", "sk-"])
def test_long_line_takes_no_time(piece: str) -> None:
    line = piece * 4_000
    started = time.process_time()
    redact(line)
    assert time.process_time() - started < 0.05
