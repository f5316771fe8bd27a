"""OpenAI's chat completions as values: what is sent, and what an answer's pieces add up to."""

from typing import Any

import pytest
from google.adk.flows.llm_flows.context._contents import _is_id_pairing_model
from google.adk.models.lite_llm import (
    _function_declaration_to_tool_param,
    _to_litellm_response_format,
)
from google.adk.models.llm_request import LlmRequest
from google.genai.types import (
    Blob,
    Content,
    FileData,
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

from oda.agent.model.chat_completions import Answer, chat_request
from oda.agent.model.chat_schemas import response_format, tool_param
from oda.agent.model.configured import configured_model


class City(BaseModel):
    name: str


def user(*parts: Part | str) -> Content:
    return Content(role="user", parts=[Part(text=p) if isinstance(p, str) else p for p in parts])


def model(*parts: Part) -> Content:
    return Content(role="model", parts=list(parts))


def call(name: str, call_id: str, **args: Any) -> Part:
    part = Part.from_function_call(name=name, args=args)
    assert part.function_call
    part.function_call.id = call_id
    return part


def result(name: str, call_id: str, **response: Any) -> Part:
    part = Part.from_function_response(name=name, response=response)
    assert part.function_response
    part.function_response.id = call_id
    return part


def body(
    *contents: Content,
    config: GenerateContentConfig | None = None,
    name: str = "m",
    is_openai: bool = False,
    stream: bool = False,
) -> dict[str, Any]:
    request = LlmRequest(contents=list(contents), config=config or GenerateContentConfig())
    return chat_request(request, name, is_openai=is_openai, stream=stream)


def messages(*contents: Content, **options: Any) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = body(*contents, **options)["messages"]
    return sent


def test_a_conversation_with_tools_keeps_its_order_and_ids() -> None:
    config = GenerateContentConfig(system_instruction="Add.")
    assert messages(
        user("2 + 3?"),
        model(Part(text="Adding."), call("add", "c1", a=2, b=3)),
        Content(role="user", parts=[result("add", "c1", sum=5)]),
        model(Part(text="5")),
        config=config,
    ) == [
        {"role": "system", "content": "Add."},
        {"role": "user", "content": "2 + 3?"},
        {
            "role": "assistant",
            "content": "Adding.",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "add", "arguments": '{"a":2,"b":3}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": '{"sum":5}'},
        {"role": "assistant", "content": "5"},
    ]


def test_a_call_without_a_result_gets_one_before_the_next_message() -> None:
    sent = messages(
        user("go"),
        model(call("a", "c1"), call("b", "c2")),
        Content(role="user", parts=[result("b", "c2", ok=True)]),
        user("and?"),
        model(call("a", "c3")),
    )
    assert [(m["role"], m.get("tool_call_id")) for m in sent] == [
        ("user", None),
        ("assistant", None),
        ("tool", "c2"),
        ("tool", "c1"),
        ("user", None),
        ("assistant", None),
        ("tool", "c3"),
    ]


def test_reasoning_goes_back_in_the_tool_loop_of_the_turn_only_and_not_to_openai() -> None:
    turn = [
        user("first"),
        model(Part(text="old", thought=True), call("a", "c1")),
        Content(role="user", parts=[result("a", "c1", ok=1)]),
        model(Part(text="done")),
        user("second"),
        model(Part(text="new", thought=True), call("a", "c2")),
        Content(role="user", parts=[result("a", "c2", ok=1)]),
    ]
    kept = [m["reasoning_content"] for m in messages(*turn) if "reasoning_content" in m]
    assert kept == ["new"]
    assert all("reasoning_content" not in m for m in messages(*turn, is_openai=True))


@pytest.mark.parametrize(
    ("part", "piece"),
    [
        (
            Part(inline_data=Blob(mime_type="image/png", data=b"\x01")),
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AQ=="}},
        ),
        (
            Part(inline_data=Blob(mime_type="audio/mpeg", data=b"\x01")),
            {"type": "input_audio", "input_audio": {"data": "AQ==", "format": "mp3"}},
        ),
        (
            Part(inline_data=Blob(mime_type="audio/x-wav", data=b"\x01")),
            {"type": "input_audio", "input_audio": {"data": "AQ==", "format": "wav"}},
        ),
        (
            Part(
                inline_data=Blob(mime_type="application/pdf", data=b"\x01", display_name="cv.pdf")
            ),
            {
                "type": "file",
                "file": {"filename": "cv.pdf", "file_data": "data:application/pdf;base64,AQ=="},
            },
        ),
        (
            Part(file_data=FileData(file_uri="https://x.test/a.png", mime_type="image/png")),
            {"type": "image_url", "image_url": {"url": "https://x.test/a.png"}},
        ),
        (
            Part(file_data=FileData(file_uri="file-1", mime_type="application/pdf")),
            {"type": "file", "file": {"file_id": "file-1"}},
        ),
    ],
)
def test_files_go_beside_the_text(part: Part, piece: dict[str, Any]) -> None:
    (sent,) = messages(user("look", part))
    assert sent["content"] == [{"type": "text", "text": "look"}, piece]


def test_a_text_file_and_a_file_elsewhere_are_text() -> None:
    text = Part(inline_data=Blob(mime_type="text/csv; charset=utf-8", data="é,1".encode()))
    elsewhere = Part(file_data=FileData(file_uri="gs://bucket/secret-name.pdf"))
    assert messages(user(text, elsewhere)) == [
        {"role": "user", "content": "é,1\n[file: unnamed]"},
    ]


def test_tools_and_a_schema_are_json_schemas() -> None:
    add = FunctionDeclaration(
        name="add",
        description="Add.",
        parameters=Schema(type=Type.OBJECT, properties={"a": Schema(type=Type.INTEGER)}),
    )
    config = GenerateContentConfig(
        tools=[Tool(function_declarations=[add])],
        tool_config=ToolConfig(
            function_calling_config=FunctionCallingConfig(mode=FunctionCallingConfigMode.ANY)
        ),
        response_schema=City,
        temperature=0.5,
        stop_sequences=["END"],
        max_output_tokens=7,
    )
    sent = body(user("x"), config=config, stream=True)
    assert sent["tools"][0]["function"]["parameters"]["properties"] == {"a": {"type": "integer"}}
    assert sent["response_format"]["json_schema"]["schema"]["required"] == ["name"]
    assert {key: sent[key] for key in ("tool_choice", "temperature", "stop", "max_tokens")} == {
        "tool_choice": "required",
        "temperature": 0.5,
        "stop": ["END"],
        "max_tokens": 7,
    }
    assert sent["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize(
    "declaration",
    [
        FunctionDeclaration(name="none", description="No parameters."),
        FunctionDeclaration(
            name="json",
            parameters_json_schema={
                "type": "OBJECT",
                "properties": {"a": {"anyOf": [{"type": "STRING"}, {"type": "NULL"}]}},
                "required": ["a"],
            },
        ),
        FunctionDeclaration(
            name="schema",
            parameters=Schema(
                type=Type.OBJECT,
                properties={
                    "list": Schema(type=Type.ARRAY, items=Schema(type=Type.STRING), min_items=1),
                    "choice": Schema(
                        any_of=[Schema(type=Type.STRING, enum=["a"]), Schema(type=Type.INTEGER)]
                    ),
                },
                required=["list"],
            ),
        ),
        FunctionDeclaration(name="empty", parameters=Schema(properties={})),
    ],
    ids=lambda declaration: str(declaration.name),
)
def test_a_tool_is_sent_as_adk_would_send_it(declaration: FunctionDeclaration) -> None:
    assert tool_param(declaration) == _function_declaration_to_tool_param(declaration)


def test_the_schema_of_a_result_stands_in_the_description_if_there_is_room() -> None:
    def described(text: str) -> str:
        declaration = FunctionDeclaration(
            name="f", description=text, response_json_schema=City.model_json_schema()
        )
        return str(tool_param(declaration)["function"]["description"])

    assert described("Find a city.").startswith("Find a city.\nReturns")
    assert '"name"' in described("Find a city.")
    assert described("x" * 1000) == "x" * 1000


@pytest.mark.parametrize(
    "schema",
    [
        City,
        City(name="Bonn"),
        City.model_json_schema(),
        Schema(type=Type.OBJECT, properties={"a": Schema(type=Type.INTEGER)}),
        {"type": "json_object"},
        {"type": "OBJECT", "title": "Place", "properties": {"a": {"type": "STRING"}}},
    ],
    ids=repr,
)
def test_the_form_of_an_answer_is_what_adk_would_ask_for(schema: Any) -> None:
    assert response_format(schema) == _to_litellm_response_format(schema, "m")


def test_adk_keeps_the_ids_of_calls_for_configured_models() -> None:
    assert _is_id_pairing_model(configured_model())


def test_a_reasoning_model_gets_the_fields_that_it_takes() -> None:
    config = GenerateContentConfig(
        temperature=0.2,
        max_output_tokens=9,
        thinking_config=ThinkingConfig(thinking_level=ThinkingLevel.LOW),
    )
    sent = body(user("x"), config=config, name="gpt-5", is_openai=True)
    assert sent["max_completion_tokens"] == 9
    assert sent["reasoning_effort"] == "low"
    assert "temperature" not in sent and "max_tokens" not in sent


def delta(finish: str | None = None, **said: Any) -> dict[str, Any]:
    return {"model": "m-1", "choices": [{"delta": said, "finish_reason": finish}]}


def test_previews_hold_what_is_new_and_the_response_all() -> None:
    answer = Answer()
    answer.add(delta(reasoning_content="Hm"))
    answer.add(delta(reasoning="m."))
    answer.add(delta(content="One "))
    preview = answer.preview()
    assert preview and preview.partial and preview.content and preview.content.parts
    assert [(p.text, p.thought) for p in preview.content.parts] == [("Hmm.", True), ("One ", None)]
    answer.add(delta(content="two"))
    second = answer.preview()
    assert second and second.content and second.content.parts
    assert [p.text for p in second.content.parts] == ["two"]
    answer.add(delta("stop"))
    assert answer.preview() is None

    whole = answer.response()
    assert whole.content and whole.content.parts
    assert [(p.text, p.thought) for p in whole.content.parts] == [("Hmm.", True), ("One two", None)]
    assert (whole.partial, whole.error_code, whole.model_version) == (False, None, "m-1")


def test_thoughts_are_counted_once() -> None:
    answer = Answer()
    answer.add(delta("stop", content="ok"))
    answer.add(
        {
            "choices": [],
            "usage": {
                "prompt_tokens": 100,
                "completion_tokens": 30,
                "total_tokens": 130,
                "prompt_tokens_details": {"cached_tokens": 60},
                "completion_tokens_details": {"reasoning_tokens": 20},
            },
        }
    )
    usage = answer.response().usage_metadata
    assert usage
    assert usage.prompt_token_count == 100
    assert (usage.candidates_token_count, usage.thoughts_token_count) == (10, 20)
    assert (usage.total_token_count, usage.cached_content_token_count) == (130, 60)


def test_calls_come_together_from_pieces_with_and_without_an_index() -> None:
    answer = Answer()
    start = {"index": 0, "id": "c1", "function": {"name": "add", "arguments": '{"a"'}}
    answer.add(delta(tool_calls=[start]))
    answer.add(delta(tool_calls=[{"index": 0, "function": {"arguments": ": 1}"}}]))
    answer.add(delta("tool_calls", tool_calls=[{"index": 1, "function": {"name": "now"}}]))
    content = answer.response().content
    assert content and content.parts
    calls = [part.function_call for part in content.parts]
    assert [(c.id, c.name, c.args) for c in calls if c] == [
        ("c1", "add", {"a": 1}),
        ("1", "now", {}),
    ]


@pytest.mark.parametrize("arguments", ['{"a": ', "[1]", '"x"'])
def test_of_calls_that_came_together_none_is_made_if_one_is_broken(arguments: str) -> None:
    answer = Answer()
    good = {"index": 0, "id": "c1", "function": {"name": "add", "arguments": "{}"}}
    bad = {"index": 1, "id": "c2", "function": {"name": "add", "arguments": arguments}}
    answer.add(delta("tool_calls", tool_calls=[good, bad]))
    response = answer.response()
    assert response.error_code == "MALFORMED_FUNCTION_CALL"
    assert response.content is None


@pytest.mark.parametrize(
    ("finish", "code"), [("length", "MAX_TOKENS"), ("content_filter", "SAFETY"), ("stop", None)]
)
def test_an_answer_that_was_cut_off_keeps_its_text_and_says_so(
    finish: str, code: str | None
) -> None:
    answer = Answer()
    answer.add(delta(finish, content="half"))
    response = answer.response()
    assert response.error_code == code
    assert response.content and response.content.parts and response.content.parts[0].text == "half"
