"""The turn that every target runs: a question, one tool call, an answer of twenty tokens."""

from oda.testing.script import Call, Match, Script, Text, ToolCalls

QUESTION = "What is 2 and 3 together?"
ANSWER = (
    "Two and three are five; that is what the tool has found when it was asked to add them now."
)
MODEL = "openai/stub"
MODEL_BASE_VARIABLE = "BENCH_MODEL_BASE"
"""Tells agents without oda's configuration where the model is."""

SCRIPT = Script(
    steps=(
        ToolCalls(
            match=Match(after_tool=False),
            times=None,
            calls=(Call(name="add", args={"a": 2, "b": 3}),),
        ),
        Text(match=Match(after_tool=True), times=None, text=ANSWER),
    )
)
