"""Which tools a policy lets through: a table, and its merge."""

import pytest

from oda import ToolPolicy
from oda.tools.policy import Decision, EntryMode

POLICY = ToolPolicy(
    allow=("read_*", "send"),
    allow_interactive=("ask",),
    allow_automated=("file_report",),
    require_confirmation=("send", "delete", "read_secret"),
)


@pytest.mark.parametrize(
    ("tool", "interactive", "automated"),
    [
        ("read_file", "allowed", "allowed"),
        ("read_secret", "confirm", "confirm"),
        ("send", "confirm", "confirm"),
        ("ask", "allowed", "barred"),
        ("file_report", "barred", "allowed"),
        ("delete", "barred", "barred"),
        ("unheard_of", "barred", "barred"),
        ("READ_file", "barred", "barred"),
        ("read", "barred", "barred"),
        ("send ", "barred", "barred"),
        ("", "barred", "barred"),
    ],
)
def test_what_nothing_allows_is_barred(
    tool: str, interactive: Decision, automated: Decision
) -> None:
    assert POLICY.decide(tool, "interactive") == interactive
    assert POLICY.decide(tool, "automated") == automated


@pytest.mark.parametrize("mode", ["interactive", "automated"])
def test_a_policy_that_says_nothing_bars_everything(mode: EntryMode) -> None:
    assert ToolPolicy().decide("read_file", mode) == "barred"


def test_a_merge_keeps_all_that_was_said_once() -> None:
    merged = POLICY.merge(ToolPolicy(allow=("send", "pay"), require_confirmation=("read_*",)))
    assert merged == ToolPolicy(
        allow=("read_*", "send", "pay"),
        allow_interactive=("ask",),
        allow_automated=("file_report",),
        require_confirmation=("send", "delete", "read_secret", "read_*"),
    )
    assert POLICY.decide("pay", "automated") == "barred"
