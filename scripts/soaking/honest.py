"""Users who talk with the applications at a human pace and check each answer.

A visit is one of the scenes below. Any deviation ends the visit with `Wrong`: a 5xx, a 429, a wrong
answer, a message that is lost or duplicated.
"""

import asyncio
import hashlib
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from scripts.soaking.client import Client, Json, SentEvent, Wrong
from scripts.soaking.model import Sum, sums
from scripts.soaking.server import Soaked
from scripts.soaking.tally import Tally

SCENES = frozenset(
    {
        *("cv", "assistant", "assistant over a WebSocket", "companion"),
        *("companion over a WebSocket", "coach", "files"),
    }
)

_CV = "/api/agent/cv-tools"
_COACH = "/api/resume-coach/sessions"
_ASSISTANT = "/v1/apps/assistant/sessions"
_SKILLS = ("Python", "Rust", "Erlang", "Haskell", "Prolog", "Fortran", "COBOL", "Kotlin")
_COMPANION: Sequence[tuple[str, str]] = (
    ("我要背诵《静夜思》", "recite/listening"),
    ("床前明月光，疑是地上霜。举头望明月，低头思故乡。", "recite/done"),
    ("check my homework: 3+4=7, 47+38=75", "homework/tutoring"),
    ("hint", "homework/tutoring"),
    ("85", "homework/summary"),
)
"""Messages of a child, and the scene that each leads to."""
_RESUME: Json = {
    "basics": {"name": "Tom Brennan", "summary": "Sales manager in building materials."},
    "work": [
        {
            "name": "Holloway Timber",
            "position": "Regional Sales Manager",
            "startDate": "2019-06",
            "highlights": ["Raised revenue in the region from 3.1 to 4.6 million pounds"],
        }
    ],
    "skills": [{"name": "Negotiation"}],
}


class HonestUser:
    """A user with an API key of their own.

    Args:
        pause_s: Shortest and longest pause between two messages, in seconds.
    """

    def __init__(
        self, soaked: Soaked, name: str, tally: Tally, *, seed: int, pause_s: tuple[float, float]
    ) -> None:
        self.name = name
        self._soaked = soaked
        self._tally = tally
        self._random = random.Random(f"{seed}/{name}")
        self._pause_s = pause_s
        self._sums = sums(seed)
        self._visits: Mapping[str, Callable[[Client], Awaitable[None]]] = {
            "cv": self._cv,
            "assistant": self._assistant,
            "assistant over a WebSocket": self._assistant_socket,
            "companion": self._companion,
            "companion over a WebSocket": self._companion_socket,
            "coach": self._coach,
            "files": self._files,
        }

    async def live(self, over: asyncio.Event) -> None:
        """Make visits until `over` is set; finish the visit in progress."""
        async with Client(self._soaked, self.name, self._tally) as client:
            while not over.is_set():
                visit = self._random.choice([*self._visits])
                try:
                    await self._visits[visit](client)
                    self._tally.served[visit] += 1
                except Wrong as wrong:
                    self._tally.error(f"{visit}: {wrong} ({self.name})")
                await self._pause()

    async def _pause(self) -> None:
        await asyncio.sleep(self._random.uniform(*self._pause_s))

    # --- cv

    async def _cv(self, client: Client) -> None:
        name = f"Ada {self._random.choice('ABCDEFGH')}. Lovelace"
        answer = await self._say_to_cv(client, None, f"My name is {name}")
        expected: Json = {"basics": {"name": name}}
        session = answer["session_id"]
        _check_resume(answer, expected)
        for skill in self._random.sample(_SKILLS, 3):
            await self._pause()
            answer = await self._say_to_cv(client, session, f"Add skill {skill}")
            expected.setdefault("skills", []).append({"name": skill})
            _check_resume(answer, expected)
        answer = await self._say_to_cv(client, session, "undo")
        expected["skills"].pop()
        _check_resume(answer, expected)
        stored = (await client.ask("GET", f"{_CV}/{session}/resume")).json
        _check_resume({"resume": stored}, expected)
        await client.ask("DELETE", f"/v1/apps/cv/sessions/{session}", expect=(204,))

    async def _say_to_cv(self, client: Client, session: str | None, message: str) -> Json:
        body = {"message": message, **({"session_id": session} if session else {})}
        if self._random.random() < 0.5:
            found: Json = (await client.ask("POST", _CV, json=body)).json
            return found
        told = await client.told("POST", _CV, json=body)
        _check(told[-1].kind == "done", f"the stream ends with {told[-1]}")
        return told[-1].data

    # --- assistant

    async def _assistant(self, client: Client) -> None:
        session = (await client.ask("POST", _ASSISTANT, expect=(201,), json={})).json["session_id"]
        asked = self._random.sample(self._sums, 4)
        ways = (self._ask, self._ask_and_read, self._ask_and_reconnect, self._ask_twice)
        for one in asked:
            await self._random.choice(ways)(client, session, one)
            await self._pause()
        await self._check_history(client, session, asked)
        await client.ask("DELETE", f"{_ASSISTANT}/{session}", expect=(204,))

    async def _ask(self, client: Client, session: str, one: Sum) -> None:
        path = f"{_ASSISTANT}/{session}/turns"
        result = (await client.ask("POST", path, json={"message": one.question})).json
        _check_sum(one, result["turn"], result["events"])

    async def _ask_and_read(self, client: Client, session: str, one: Sum) -> None:
        path = f"{_ASSISTANT}/{session}/turns"
        told = await client.told("POST", path, json={"message": one.question})
        _check_log(one, told)

    async def _ask_and_reconnect(self, client: Client, session: str, one: Sum) -> None:
        """Disconnect repeatedly, resuming from the last number received."""
        path = f"{_ASSISTANT}/{session}/turns"
        seen = await client.told("POST", path, json={"message": one.question}, leave_after=2)
        turn = f"/v1/turns/{seen[0].data['turn_id']}/events"
        while not _is_over(seen):
            last = max((event.number or 0 for event in seen), default=0)
            headers = {"Last-Event-ID": str(last)}
            leave_after = self._random.choice((1, 3, None))
            seen += await client.told("GET", turn, headers=headers, leave_after=leave_after)
        _check_log(one, seen)

    async def _ask_twice(self, client: Client, session: str, one: Sum) -> None:
        """Send the same request again, as after a lost answer."""
        path = f"{_ASSISTANT}/{session}/turns"
        key = {"Idempotency-Key": f"{self.name}-{self._random.getrandbits(64):x}"}
        turns = set()
        for _ in range(2):
            answer = await client.ask("POST", path, headers=key, json={"message": one.question})
            _check_sum(one, answer.json["turn"], answer.json["events"])
            turns.add(answer.json["turn"]["turn_id"])
        _check(len(turns) == 1, f"one key has made {turns}")

    async def _check_history(self, client: Client, session: str, asked: Sequence[Sum]) -> None:
        turns = (await client.ask("GET", f"{_ASSISTANT}/{session}/turns")).json["turns"]
        replies = [turn["reply"] for turn in reversed(turns)]
        _check(replies == [one.answer for one in asked], f"the turns are {replies}")
        events = (await client.ask("GET", f"{_ASSISTANT}/{session}/events")).json["events"]
        messages = [_text(event) for event in events if event["author"] == "user"]
        _check(messages == [one.question for one in asked], f"the messages are {messages}")

    async def _assistant_socket(self, client: Client) -> None:
        session = (await client.ask("POST", _ASSISTANT, expect=(201,), json={})).json["session_id"]
        asked = self._random.sample(self._sums, 3)
        async with await client.socket(f"{_ASSISTANT}/{session}/ws") as socket:
            for number, one in enumerate(asked):
                message = {"message": one.question, "request_id": number}
                told = await socket.ask(message, last="done", kind="event")
                _check({item["request_id"] for item in told} == {number}, f"they answer {told}")
                events = [SentEvent(item.get("id"), item["event"], item["data"]) for item in told]
                _check_log(one, events)
                await self._pause()
        await self._check_history(client, session, asked)
        await client.ask("DELETE", f"{_ASSISTANT}/{session}", expect=(204,))

    # --- companion

    async def _companion(self, client: Client) -> None:
        session = f"{self.name}-{self._random.getrandbits(64):x}"
        for message, place in _COMPANION:
            body = {"session_id": session, "input": {"type": "text", "text": message}}
            answer = await client.ask("POST", "/api/orchestrator/process", json=body)
            _check_place(answer.json, place)
            await self._pause()
        await client.ask("DELETE", f"/v1/apps/companion/sessions/{session}", expect=(204,))

    async def _companion_socket(self, client: Client) -> None:
        session = f"{self.name}-{self._random.getrandbits(64):x}"
        async with await client.socket("/api/orchestrator/ws") as socket:
            for message, place in _COMPANION[: self._random.randint(2, len(_COMPANION))]:
                said = {"session_id": session, "input": {"type": "text", "text": message}}
                told = await socket.ask(said, last="response", kind="type")
                _check_place(told[-1], place)
                await self._pause()
        await client.ask("DELETE", f"/v1/apps/companion/sessions/{session}", expect=(204,))

    # --- coach

    async def _coach(self, client: Client) -> None:
        begun = await client.ask("POST", _COACH, expect=(201,), json={"resume": _RESUME})
        session, task = begun.json["session_id"], begun.json["current_task"]
        _check(task["kind"] == "missing_contact", f"the first task is {task}")
        await self._pause()
        path = f"{_COACH}/{session}/messages"
        mail = f"{self.name}@brennan.example"
        message = {"message": f"{mail}, +44 20 7946 0000"}
        drafted = (await client.ask("POST", path, json=message)).json
        _check(drafted["action"] == "REQUEST_CONFIRM", f"the draft is {drafted['action']}")
        await self._pause()
        told = await client.told("POST", path, json={"confirm": True})
        _check(told[-1].kind == "view", f"the stream ends with {told[-1]}")
        view = (await client.ask("GET", f"{_COACH}/{session}")).json
        _check(view["resume"]["basics"]["email"] == mail, f"the resume is {view['resume']}")
        _check(view["progress"]["done"] == 1, f"the progress is {view['progress']}")
        await client.ask("DELETE", f"/v1/apps/resume_coach/sessions/{session}", expect=(204,))

    # --- files

    async def _files(self, client: Client) -> None:
        session = (await client.ask("POST", _ASSISTANT, expect=(201,), json={})).json["session_id"]
        path = f"{_ASSISTANT}/{session}/artifacts"
        versions = [self._random.randbytes(self._random.randrange(1, 100_000)) for _ in range(2)]
        for number, data in enumerate(versions):
            stored = await client.ask("PUT", f"{path}/notes.bin", expect=(201,), data=data)
            _check(stored.json["version"] == number, f"it is version {stored.json['version']}")
            await self._pause()
        listed = (await client.ask("GET", path)).json["artifacts"]
        _check([one["name"] for one in listed] == ["notes.bin"], f"there are {listed}")
        for number, data in enumerate(versions):
            got = await client.ask("GET", f"{path}/notes.bin?version={number}")
            _check(_digest(got.body) == _digest(data), f"version {number} has other bytes")
        await client.ask("DELETE", f"{path}/notes.bin", expect=(204,))
        await client.ask("GET", f"{path}/notes.bin", expect=(404,))
        await client.ask("DELETE", f"{_ASSISTANT}/{session}", expect=(204,))


def _check(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Wrong(otherwise)


def _check_resume(answer: Json, expected: Json) -> None:
    resume = {name: value for name, value in answer["resume"].items() if name != "meta"}
    shown = {name: value for name, value in resume.items() if value or name in expected}
    _check(shown == expected, f"the resume is {resume} instead of {expected}")


def _check_place(answer: Json, place: str) -> None:
    found = f"{answer['scene']}/{answer['phase']}"
    _check(answer["success"] and found == place, f"it leads to {found} instead of {place}")


def _check_sum(one: Sum, turn: Json, events: Sequence[Json]) -> None:
    _check(turn["status"] == "succeeded", f"the turn is {turn}")
    _check(turn["reply"] == one.answer, f"{one.question} is answered by {turn['reply']}")
    results = [
        part["functionResponse"]["response"].get("value")
        for event in events
        for part in (event.get("content") or {}).get("parts") or ()
        if "functionResponse" in part and not event.get("partial")
    ]
    _check(results == [one.value], f"the tool has answered {results}")


def _check_log(one: Sum, told: Sequence[SentEvent]) -> None:
    """Check that each entry occurs once, in order, and that the last one is the end."""
    numbers = [event.number for event in told if event.number is not None]
    _check(numbers == [*range(1, len(numbers) + 1)], f"the entries are {numbers}")
    _check(told[-1].kind == "done", f"the log ends with {told[-1].kind}")
    _check_sum(one, told[-1].data, [event.data for event in told if event.kind == "event"])


def _is_over(seen: Sequence[SentEvent]) -> bool:
    return bool(seen) and seen[-1].kind == "done"


def _text(event: Json) -> Any:
    return event["content"]["parts"][0].get("text")


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
