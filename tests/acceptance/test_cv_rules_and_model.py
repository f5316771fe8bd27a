"""What rules leave to the model, and what the model finds there."""

from typing import Any

from google.adk.events import Event
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

from agents.cv.agent import build_agent
from oda.testing import ScriptedModel
from oda.testing.script import Call, Text, ToolCalls

USER, SESSION = "someone", "one"
RESUME: dict[str, Any] = {"work": [{"name": "腾讯", "summary": "写代码"}], "basics": {"phone": "1"}}


async def talk(model: ScriptedModel, *texts: str) -> tuple[list[Event], dict[str, Any]]:
    """Say some things to the agent on a model; return the last turn's events and the state."""
    sessions = InMemorySessionService()
    agent = build_agent(model, model_available=lambda: True)
    runner = Runner(app_name="cv", agent=agent, session_service=sessions)
    await sessions.create_session(
        app_name="cv", user_id=USER, session_id=SESSION, state={"resume": RESUME}
    )
    for text in texts:
        message = types.Content(role="user", parts=[types.Part(text=text)])
        turn = runner.run_async(user_id=USER, session_id=SESSION, new_message=message)
        events = [event async for event in turn]
    session = await sessions.get_session(app_name="cv", user_id=USER, session_id=SESSION)
    assert session is not None
    return events, session.state


def called(event: Event) -> list[str]:
    return [call.name or "" for call in event.get_function_calls()]


def edit(path: str, action: str, **value: Any) -> Call:
    return Call(name="CVEditor", args={"path": path, "action": action, **value})


async def test_a_creative_request_is_the_models_with_the_same_tools() -> None:
    model = ScriptedModel(
        steps=(
            ToolCalls(calls=(edit("work[0].summary", "update", value="负责前端开发"),)),
            Text(text="已润色。"),
        )
    )
    events, state = await talk(model, "帮我润色第一段工作")
    assert [
        event.get_function_calls()[0].name for event in events if event.get_function_calls()
    ] == ["CVEditor"]
    assert state["resume"]["work"][0]["summary"] == "负责前端开发"
    assert state["cv_turn"]["layer"] == "llm"
    assert state["cv_turn"]["tool_result"]["success"] is True
    tools = model.requests[0].tools_dict
    assert {"CVReader", "CVEditor", "CVUndo", "CVExport", "CVDiagnose"} <= set(tools)
    assert "Never invent facts" in str(model.requests[0].config.system_instruction)


async def test_what_rules_settle_is_never_asked_of_the_model() -> None:
    model = ScriptedModel()
    await talk(
        model, "看看我的工作", "把名字改成张三", "添加技能Go", "删除Go", "撤销", "你好", "算了"
    )
    assert model.requests == ()


async def test_an_edit_of_the_model_can_be_undone_by_rules() -> None:
    model = ScriptedModel(
        steps=(
            ToolCalls(calls=(edit("work[0].summary", "update", value="更好"),)),
            Text(text="好了"),
        )
    )
    _, state = await talk(model, "优化一下描述", "撤销")
    assert state["resume"]["work"][0]["summary"] == "写代码"
    assert len(model.requests) == 2


async def test_an_error_of_a_tool_is_told_to_the_model_in_words() -> None:
    model = ScriptedModel(
        steps=(
            ToolCalls(calls=(edit("work[7].summary", "update", value="x"),)),
            Text(text="没有这一条"),
        )
    )
    events, state = await talk(model, "帮我润色第八段工作")
    (answer,) = [r for event in events for r in event.get_function_responses()]
    assert answer.response is not None
    assert answer.response["code"] == "entry_not_found"
    assert "共有 1 条" in answer.response["error"]
    assert state["resume"] == RESUME


async def test_parallel_edits_of_a_model_happen_together() -> None:
    delete = edit("basics.phone", "delete")
    update = edit("work[0].summary", "update", value="x")
    model = ScriptedModel(steps=(ToolCalls(calls=(delete, update)), Text(text="好了")))
    events, state = await talk(model, "帮我优化一下")
    assert [called(event) for event in events if called(event)] == [["CVEditor", "CVEditor"]]
    assert state["resume"]["basics"] == {}
    assert state["resume"]["work"][0]["summary"] == "x"
    assert state["cv_history"]["end"] == 1


async def test_an_object_sent_as_its_json_text_is_understood() -> None:
    model = ScriptedModel(
        steps=(
            ToolCalls(calls=(edit("skills", "add", value='{"name": "Go"}'),)),
            Text(text="好了"),
        )
    )
    _, state = await talk(model, "帮我优化一下技能，我会 Go")
    assert state["resume"]["skills"] == [{"name": "Go"}]


async def test_an_entry_that_the_model_completes_is_no_longer_pending() -> None:
    model = ScriptedModel(
        steps=(
            ToolCalls(calls=(edit("work", "add", value={"name": "华为", "position": "研发"}),)),
            Text(text="好了"),
        )
    )
    _, state = await talk(model, "添加一条工作经历，在华为", "我做研发，你自己帮我优化并写上")
    assert state["cv_pending"] == []
    assert len(state["resume"]["work"]) == 2
