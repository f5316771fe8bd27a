"""Anthropic's messages as values: what is sent, and what an answer's pieces add up to."""

from typing import Any

import pytest
from google.adk.agents.context_cache_config import ContextCacheConfig
from google.adk.models.llm_request import LlmRequest
from google.genai.types import (
    Blob,
    Content,
    FileData,
    FinishReason,
    FunctionCallingConfig,
    FunctionCallingConfigMode,
    FunctionDeclaration,
    GenerateContentConfig,
    Part,
    Schema,
    ThinkingConfig,
    ThinkingLevel,
    Tool,
    ToolConfig,
    Type,
)
from pydantic import BaseModel

from oda.agent.model.claude import ClaudeAnswer
from oda.agent.model.claude_request import claude_request


class City(BaseModel):
    name: str


ADD = Tool(
    function_declarations=[
        FunctionDeclaration(
            name="add",
            description="Add.",
            parameters_json_schema={"type": "object", "properties": {"a": {"type": "integer"}}},
        )
    ]
)


def user(*parts: Part | str) -> Content:
    return Content(role="user", parts=[Part(text=p) if isinstance(p, str) else p for p in parts])


def model(*parts: Part) -> Content:
    return Content(role="model", parts=list(parts))


def call(call_id: str | None, **args: Any) -> Part:
    part = Part.from_function_call(name="add", args=args)
    assert part.function_call
    part.function_call.id = call_id
    return part


def result(call_id: str, **response: Any) -> Part:
    part = Part.from_function_response(name="add", response=response)
    assert part.function_response
    part.function_response.id = call_id
    return part


def body(*contents: Content, cache: bool = False, **config: Any) -> dict[str, Any]:
    request = LlmRequest(contents=list(contents), config=GenerateContentConfig(**config))
    if cache:
        request.cache_config = ContextCacheConfig(ttl_seconds=3600)
    return claude_request(request, "m", most_tokens=100, stream=False)


def messages(*contents: Content) -> list[tuple[str, list[Any]]]:
    sent = body(*contents)["messages"]
    told = {"text": "text", "tool_use": "id", "tool_result": "tool_use_id", "thinking": "thinking"}
    return [(m["role"], [b.get(told.get(b["type"], "type")) for b in m["content"]]) for m in sent]


def test_a_conversation_with_tools_keeps_its_order_and_ids() -> None:
    sent = body(
        user("2 + 3?"),
        model(Part(text="Adding."), call("c1", a=2)),
        user(result("c1", sum=5)),
        model(Part(text="5")),
        user("Thanks"),
        system_instruction="Add.",
        tools=[ADD],
        temperature=0.5,
    )
    assert sent["system"] == [{"type": "text", "text": "Add."}]
    assert (sent["max_tokens"], sent["temperature"]) == (100, 0.5)
    assert sent["tools"] == [
        {
            "name": "add",
            "description": "Add.",
            "input_schema": {"type": "object", "properties": {"a": {"type": "integer"}}},
        }
    ]
    assert [message["content"] for message in sent["messages"]] == [
        [{"type": "text", "text": "2 + 3?"}],
        [
            {"type": "text", "text": "Adding."},
            {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 2}},
        ],
        [{"type": "tool_result", "tool_use_id": "c1", "content": '{"sum":5}'}],
        [{"type": "text", "text": "5"}],
        [{"type": "text", "text": "Thanks"}],
    ]


def test_a_call_without_a_result_gets_one_before_anything_else_is_said() -> None:
    assert messages(user("a"), model(call("c1"), call("c2")), user(result("c2")), user("b")) == [
        ("user", ["a"]),
        ("assistant", ["c1", "c2"]),
        ("user", ["c2", "c1", "b"]),
    ]
    assert messages(user("a"), model(call("c1"))) == [
        ("user", ["a"]),
        ("assistant", ["c1"]),
        ("user", ["c1"]),
    ]
    assert messages(user("a"), model(call("c1")), model(Part(text="b"))) == [
        ("user", ["a"]),
        ("assistant", ["c1"]),
        ("user", ["c1"]),
        ("assistant", ["b"]),
    ]


def test_results_of_one_answer_stand_together_and_first() -> None:
    contents = (user("x", result("c1")), user(result("c2")))
    assert messages(user("a"), model(call("c1"), call("c2")), *contents)[-1] == (
        "user",
        ["c1", "c2", "x"],
    )


def test_turns_alternate_and_begin_with_the_user() -> None:
    assert messages(model(Part(text="a")), model(Part(text="b")), user("c"), user("d")) == [
        ("user", ["…"]),
        ("assistant", ["a", "b"]),
        ("user", ["c", "d"]),
    ]


@pytest.mark.parametrize("blank", ["", " \n"])
def test_blank_texts_which_the_api_refuses_are_left_out(blank: str) -> None:
    assert messages(user("a"), model(Part(text=blank)), user("b", blank)) == [("user", ["a", "b"])]


def test_ids_that_the_api_refuses_are_made_fit() -> None:
    assert messages(user("a"), model(call("c.1")), user(result("c.1")))[1:] == [
        ("assistant", ["c_1"]),
        ("user", ["c_1"]),
    ]


def test_thoughts_go_back_only_if_they_are_signed() -> None:
    signed = Part(text="hm", thought=True, thought_signature=b"abc")
    redacted = Part(thought=True, thought_signature=b"xyz")
    others = [
        Part(text="of another model", thought=True),
        Part(text="too", thought=True, thought_signature=b"\xff\x00"),
    ]
    sent = body(user("a"), model(signed, redacted, *others, call("c1")), user(result("c1")))
    assert sent["messages"][1]["content"][:-1] == [
        {"type": "thinking", "thinking": "hm", "signature": "abc"},
        {"type": "redacted_thinking", "data": "xyz"},
    ]


@pytest.mark.parametrize(
    ("part", "kind", "source"),
    [
        (Part(inline_data=Blob(mime_type="image/png", data=b"x")), "image", "base64"),
        (Part(inline_data=Blob(mime_type="application/pdf", data=b"x")), "document", "base64"),
        (Part(file_data=FileData(file_uri="https://a/b", mime_type="image/png")), "image", "url"),
        (Part(inline_data=Blob(mime_type="audio/wav", data=b"x")), "text", None),
        (Part(inline_data=Blob(mime_type="text/plain", data=b"x")), "text", None),
        (Part(file_data=FileData(file_uri="gs://a/b", mime_type="image/png")), "text", None),
    ],
)
def test_files_are_sent_or_named(part: Part, kind: str, source: str | None) -> None:
    (block,) = body(user(part))["messages"][0]["content"]
    assert (block["type"], block.get("source", {}).get("type")) == (kind, source)


@pytest.mark.parametrize(
    ("thinking", "sent"),
    [
        (ThinkingConfig(include_thoughts=True), {"type": "adaptive", "display": "summarized"}),
        (ThinkingConfig(thinking_budget=-1), {"type": "adaptive", "display": "summarized"}),
        (ThinkingConfig(thinking_budget=2000), {"type": "enabled", "budget_tokens": 2000}),
        (ThinkingConfig(thinking_budget=0), {"type": "disabled"}),
        (ThinkingConfig(), None),
        (None, None),
    ],
)
def test_how_to_think(thinking: ThinkingConfig | None, sent: dict[str, Any] | None) -> None:
    got = body(user("a"), thinking_config=thinking, temperature=0.5)
    assert got.get("thinking") == sent
    thinks = sent is not None and sent["type"] != "disabled"
    assert ("temperature" in got) == (not thinks)
    assert got["max_tokens"] == (2100 if sent and "budget_tokens" in sent else 100)


def test_a_level_of_thinking_is_an_effort() -> None:
    level = ThinkingConfig(thinking_level=ThinkingLevel.MINIMAL)
    sent = body(user("a"), thinking_config=level)
    assert sent["output_config"] == {"effort": "low"}
    assert sent["thinking"]["type"] == "adaptive"


@pytest.mark.parametrize(
    ("mode", "choice"),
    [
        (FunctionCallingConfigMode.ANY, {"type": "any"}),
        (FunctionCallingConfigMode.NONE, {"type": "none"}),
        (None, None),
    ],
)
def test_whether_a_tool_must_be_called(
    mode: FunctionCallingConfigMode | None, choice: dict[str, str] | None
) -> None:
    calling = ToolConfig(function_calling_config=FunctionCallingConfig(mode=mode))
    assert body(user("a"), tools=[ADD], tool_config=calling).get("tool_choice") == choice


def test_the_cache_is_asked_for_behind_tools_instructions_and_messages() -> None:
    thought = Part(text="hm", thought=True, thought_signature=b"s")
    history = (user("a"), model(Part(text="b"), thought))
    sent = body(*history, cache=True, system_instruction="Add.", tools=[ADD])
    mark = {"type": "ephemeral", "ttl": "1h"}
    said = sent["messages"][1]["content"]
    marks = [block.get("cache_control") for block in (sent["tools"][0], sent["system"][0], *said)]
    assert marks == [mark, mark, mark, None]


# --- answers


def answer(*chunks: dict[str, Any], schema: Any = None) -> ClaudeAnswer:
    taken = ClaudeAnswer(schema)
    for chunk in chunks:
        taken.add(chunk)
    return taken


def block(index: int, kind: str, *deltas: dict[str, Any], **start: Any) -> list[dict[str, Any]]:
    begin = {"type": "content_block_start", "index": index}
    delta = {"type": "content_block_delta", "index": index}
    return [
        {**begin, "content_block": {"type": kind, **start}},
        *({**delta, "delta": one} for one in deltas),
    ]


def end(reason: str) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}}


def test_thoughts_text_and_calls_of_a_stream() -> None:
    taken = answer(
        *block(0, "thinking", {"thinking": "hm"}, {"signature": "s"}, thinking=""),
        *block(1, "redacted_thinking", data="r"),
        *block(2, "text", {"text": "a"}, {"text": "b"}, text=""),
        *block(3, "tool_use", {"partial_json": '{"a"'}, {"partial_json": ":1}"}, id="c", name="f"),
        *block(4, "tool_use", id="d", name="g", input={}),
        end("tool_use"),
    )
    content = taken.response().content
    assert content and content.parts
    thought, redacted, text, *calls = content.parts
    assert (thought.text, thought.thought, thought.thought_signature) == ("hm", True, b"s")
    assert (redacted.text, redacted.thought, redacted.thought_signature) == (None, True, b"r")
    assert text.text == "ab"
    made = [part.function_call for part in calls]
    assert [(c.id, c.name, c.args) for c in made if c] == [("c", "f", {"a": 1}), ("d", "g", {})]


def test_a_preview_holds_what_is_new() -> None:
    taken = answer(*block(0, "thinking", {"thinking": "hm"}), *block(1, "text", {"text": "a"}))
    first = taken.preview()
    assert first and first.content and first.content.parts
    assert [(part.text, part.thought) for part in first.content.parts] == [
        ("hm", True),
        ("a", None),
    ]
    assert taken.preview() is None


@pytest.mark.parametrize(
    ("reason", "told", "error"),
    [
        ("end_turn", FinishReason.STOP, None),
        ("stop_sequence", FinishReason.STOP, None),
        ("max_tokens", FinishReason.MAX_TOKENS, "MAX_TOKENS"),
        ("model_context_window_exceeded", FinishReason.MAX_TOKENS, "MAX_TOKENS"),
        ("refusal", FinishReason.SAFETY, "SAFETY"),
        ("something new", FinishReason.OTHER, "OTHER"),
    ],
)
def test_why_an_answer_ended(reason: str, told: FinishReason, error: str | None) -> None:
    response = answer(*block(0, "text", {"text": "a"}), end(reason)).response()
    assert (response.finish_reason, response.error_code) == (told, error)


SCHEMA = Schema(type=Type.OBJECT, properties={"name": Schema(type=Type.STRING)})


@pytest.mark.parametrize("schema", [City, list[City], SCHEMA], ids=str)
def test_an_answer_of_a_given_form_comes_by_a_tool(schema: Any) -> None:
    sent = body(user("a"), response_schema=schema)
    form = sent["tools"][0]["input_schema"]
    assert form["type"] == "object"
    assert sent["tool_choice"]["name"] == sent["tools"][0]["name"] == "structured_output"
    given = '{"name":"Ulm"}' if schema != list[City] else '{"response":[{"name":"Ulm"}]}'
    taken = answer(
        *block(0, "text", {"text": "Here it is:"}),
        *block(1, "tool_use", {"partial_json": given}, id="c", name="structured_output"),
        end("tool_use"),
        schema=schema,
    )
    content = taken.response().content
    assert content and content.parts
    expected = '{"name":"Ulm"}' if schema != list[City] else '[{"name":"Ulm"}]'
    assert [part.text for part in content.parts] == [expected]


def test_who_thinks_is_not_forced_to_call_the_tool() -> None:
    thinking = ThinkingConfig(thinking_budget=-1)
    sent = body(user("a"), response_schema=City, thinking_config=thinking)
    assert sent["tool_choice"]["type"] == "auto"


def test_tokens_of_the_cache_are_part_of_the_prompt() -> None:
    usage = {"input_tokens": 5, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 35}
    taken = answer(
        {
            "type": "message_start",
            "message": {"model": "m", "usage": {**usage, "output_tokens": 1}},
        },
        {
            **end("end_turn"),
            "usage": {"output_tokens": 9, "output_tokens_details": {"thinking_tokens": 4}},
        },
    )
    told = taken.response().usage_metadata
    assert told
    assert (told.prompt_token_count, told.cached_content_token_count) == (100, 60)
    assert (told.candidates_token_count, told.thoughts_token_count) == (5, 4)
    assert told.total_token_count == 109
