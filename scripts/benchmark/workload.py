"""The turn that every target runs: a question, one tool call, an answer of twenty tokens.

The model answers at once, or at the pace of a real one when the question asks for that.
"""

from oda.testing.script import Call, Match, Script, Text, ToolCalls

QUESTION = "What is 2 and 3 together?"
PACED_QUESTION = f"{QUESTION} Take your time."
FIRST_TOKEN_S, BETWEEN_TOKENS_S = 0.2, 0.01
"""The pace of each of the two answers to a paced question."""
ANSWER = (
    "Two and three are five; that is what the tool has found when it was asked to add them now."
)
MODEL = "openai/stub"
MODEL_BASE_VARIABLE = "BENCH_MODEL_BASE"
"""Tells agents without oda's configuration where the model is."""

_CALL = (Call(name="add", args={"a": 2, "b": 3}),)
_PACED = "Take your time"
SCRIPT = Script(
    steps=(
        ToolCalls(
            match=Match(after_tool=False, last_user=_PACED),
            times=None,
            calls=_CALL,
            delay_s=FIRST_TOKEN_S,
        ),
        Text(
            match=Match(after_tool=True, last_user=_PACED),
            times=None,
            text=ANSWER,
            delay_s=FIRST_TOKEN_S,
            interval_s=BETWEEN_TOKENS_S,
        ),
        ToolCalls(match=Match(after_tool=False), times=None, calls=_CALL),
        Text(match=Match(after_tool=True), times=None, text=ANSWER),
    )
)
