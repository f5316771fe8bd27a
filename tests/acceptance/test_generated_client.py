"""The document of the API is good enough to make clients from: everything in it is named and typed.

A generator from PyPI makes a client of all five applications, and the client talks to the server.
"""

import asyncio
import re
import sys
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import pytest
import pytest_asyncio

from oda.server.v1 import adk_event

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROOT = Path(__file__).parents[2]
PACKAGE = "generated_oda_client"
WITHIN_S = 60


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served(serve_folder: Any) -> Any:
    return await serve_folder(ROOT / "agents")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def document(served: Any) -> dict[str, Any]:
    found: dict[str, Any] = (await served.client.get("/openapi.json")).json()
    return found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def generated(
    served: Any, document: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The package of the client; no warning was given while it was made.

    The generator gives up after seconds; `document` has made the server load all agents before.
    """
    work = tmp_path_factory.mktemp("generated")
    config = work / "config.yaml"
    config.write_text("post_hooks: []\n")
    process = await asyncio.create_subprocess_exec(
        Path(sys.executable).with_name("openapi-python-client"),
        *("generate", "--url", f"{served.url}/openapi.json", "--meta", "none"),
        *("--config", config, "--output-path", work / PACKAGE, "--fail-on-warning"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), WITHIN_S)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, output.decode()
    assert "warning" not in output.decode().lower()
    return work / PACKAGE


@pytest.fixture(scope="module")
def importable(generated: Path) -> Iterator[None]:
    sys.path.insert(0, str(generated.parent))
    yield
    sys.path.remove(str(generated.parent))
    for name in [name for name in sys.modules if name.split(".")[0] == PACKAGE]:
        del sys.modules[name]


def operation(tag: str, name: str) -> Any:
    return import_module(f"{PACKAGE}.api.{tag}.{name}").asyncio


def model(name: str) -> Any:
    return getattr(import_module(f"{PACKAGE}.models"), name)


def operations(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for path in document["paths"].values() for one in path.values()]


@pytest.mark.usefixtures("importable")
async def test_each_operation_is_in_the_client(document: dict[str, Any]) -> None:
    api = import_module(f"{PACKAGE}.api")
    modules = [one for one in walk_packages(api.__path__, f"{api.__name__}.") if not one.ispkg]
    made = {tuple(one.name.split(".")[-2:]) for one in modules}
    assert made == {(one["tags"][0], one["operationId"]) for one in operations(document)}


@pytest.mark.usefixtures("importable")
async def test_the_client_talks_to_the_server(served: Any) -> None:
    client = import_module(PACKAGE).Client(base_url=served.url)
    session = await operation("sessions", "create_session")("cv", client=client)
    assert type(session) is model("SessionResource")
    assert session.app == "cv"
    body = model("SubmitTurn")(message="My name is Ada Lovelace")
    names = {"app": "cv", "sid": session.session_id, "client": client}
    result = await operation("turns", "submit_turn")(**names, body=body)
    assert type(result) is model("TurnResult")
    assert type(result.turn) is model("Turn")
    assert result.turn.status == "succeeded"
    assert "Ada Lovelace" in result.reply
    assert {type(event) for event in result.events} == {model("AdkEvent")}
    assert result.events[-1].content.parts[-1].text == result.reply
    log = await operation("turns", "list_turn_events")(result.turn.turn_id, client=client)
    kinds = {"turn": "TurnEntry", "event": "EventEntry", "done": "TurnEntry"}
    assert [type(entry) for entry in log.entries] == [model(kinds[e.event]) for e in log.entries]
    assert log.entries[-1].data.turn_id == result.turn.turn_id


@pytest.mark.usefixtures("importable")
async def test_a_mistake_is_a_typed_problem(served: Any) -> None:
    client = import_module(PACKAGE).Client(base_url=served.url)
    missing = await operation("sessions", "get_session")("cv", "not-there", client=client)
    assert type(missing) is model("ProblemDetails")
    assert (missing.status, missing.code, missing.retryable) == (404, "session_not_found", False)
    body = model("CreateSession")(session_id="a/b")
    refused = await operation("sessions", "create_session")("cv", client=client, body=body)
    assert (type(refused), refused.status) == (model("ProblemDetails"), 422)
    body = model("SubmitTurn").from_dict({"message": "hello", "limits": {"model_calls": -1}})
    session = await operation("sessions", "create_session")("cv", client=client)
    names = {"app": "cv", "sid": session.session_id, "client": client}
    refused = await operation("turns", "submit_turn")(**names, body=body)
    assert [type(one) for one in refused.errors] == [model("FieldError")]
    assert refused.errors[0].field.startswith("limits.model_calls")


async def test_names_are_unique(document: dict[str, Any]) -> None:
    ids = Counter(one["operationId"] for one in operations(document))
    assert [name for name, count in ids.items() if count > 1] == []
    schemas = document["components"]["schemas"]
    assert {name: schema["title"] for name, schema in schemas.items()} == {n: n for n in schemas}
    assert [name for name in schemas if "__" in name] == []


async def test_each_operation_says_what_it_does(document: dict[str, Any]) -> None:
    for one in operations(document):
        assert one["tags"], one["operationId"]
        assert len(one["operationId"].split("_")) > 1, one["operationId"]
        assert one["summary"], one["operationId"]


async def test_each_reference_leads_somewhere(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    found = list(references(document))
    assert found
    assert {
        one for one in found if one.removeprefix("#/components/schemas/") not in schemas
    } == set()
    used = {one.rpartition("/")[2] for one in found}
    assert set(schemas) - used == set()


async def test_each_link_leads_to_an_operation_with_all_that_its_path_names(
    document: dict[str, Any],
) -> None:
    paths = {
        one["operationId"]: path
        for path, some in document["paths"].items()
        for one in some.values()
    }
    links = [
        link
        for one in operations(document)
        for response in one["responses"].values()
        for link in response.get("links", {}).values()
    ]
    assert links
    for link in links:
        named = set(re.findall(r"{(\w+)}", paths[link["operationId"]]))
        assert named - set(link["parameters"]) <= {"name"}, link
        assert set(link["parameters"]) <= named, link


async def test_streams_and_questions_are_typed(document: dict[str, Any]) -> None:
    streams = [
        (one["operationId"], content["text/event-stream"])
        for one in operations(document)
        for response in one["responses"].values()
        if "text/event-stream" in (content := response.get("content", {}))
    ]
    assert len(streams) == 12
    for name, stream in streams:
        for sent in stream["itemSchema"]["oneOf"]:
            data = sent["properties"]["data"]["contentSchema"]
            assert list(references(data)), (name, sent)
    turn = document["components"]["schemas"]["Turn"]
    asked = turn["properties"]["pending_input"]["items"]
    assert asked == {"$ref": "#/components/schemas/OpenQuestion"}


async def test_events_are_described_as_adk_has_them(document: dict[str, Any]) -> None:
    from google.adk.events import Event

    adk = Event.model_json_schema(mode="serialization")
    ours = document["components"]["schemas"]
    pairs = [("AdkEvent", adk)]
    seen: set[str] = set()
    while pairs:
        name, theirs = pairs.pop()
        seen.add(name)
        for field, schema in ours[name]["properties"].items():
            assert field in theirs["properties"], (name, field)
            inner = [one.rpartition("/")[2] for one in references(schema)]
            known = [one.rpartition("/")[2] for one in references(theirs["properties"][field])]
            assert len(inner) == 0 or len(known) == 1, (name, field)
            pairs += [(one, adk["$defs"][known[0]]) for one in inner]
    assert seen == {name for name in vars(adk_event) if name.startswith("Adk")}


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        node = list(node.values())
    if isinstance(node, list):
        for item in node:
            yield from references(item)
