"""The state of an orchestrated session, stored in the session's ADK state under `STATE_KEY`.

Pure: a stored value and the time go in; a valid state comes out, with the reason if it was reset.
"""

from collections.abc import Collection, Mapping
from copy import deepcopy
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo

from google.adk.sessions.state import State
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, JsonValue, ValidationError

from oda.message.json_integer import JSON_INTEGER
from oda.orchestration.rules import OrchestrationRules

STATE_KEY = "orchestration"
USER_PREFIX = State.USER_PREFIX
TIME_ZONE_KEY = f"{USER_PREFIX}time_zone"

Data = dict[str, JsonValue]
MOST_SLOTS = 100
"""Maximum number of values that a message provides besides its intent."""
Reset = Literal["new_day", "idle", "expired", "unknown_scene", "bad_shape"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PendingSwitch(_Part):
    """A scene that the user was asked about."""

    target: Annotated[str, Field(max_length=100)]
    slots: Annotated[Data, Field(max_length=MOST_SLOTS)] = {}
    age_turns: Annotated[int, Field(ge=0, strict=True), JSON_INTEGER] = 0
    """Turns since the question that did not answer it."""


class LastIntent(_Part):
    """The classification of the latest message."""

    intent: str
    score: int
    reason: str = ""


class SceneState(BaseModel):
    """The phase of the active scene, and whatever else the scene keeps."""

    model_config = ConfigDict(frozen=True, extra="allow")
    __pydantic_extra__: Data = Field(init=False)

    phase: str

    @classmethod
    def of(cls, phase: str, data: Mapping[str, JsonValue]) -> Self:
        """A phase, and what else is kept; a `phase` in the data does not count."""
        return cls.model_validate({**data, "phase": phase})

    @property
    def data(self) -> Data:
        """All but the phase; a copy."""
        return deepcopy(self.__pydantic_extra__)


class OrchestrationState(_Part):
    """One session between two turns."""

    user_id: str
    session_id: str
    active_scene: str
    scene_state: SceneState
    pending_switch: PendingSwitch | None = None
    ttl_deadline: AwareDatetime | None = None
    """Until when the active scene is kept without a message; None in the default scene."""
    last_intent: LastIntent | None = None
    last_activity: AwareDatetime
    updated_at: AwareDatetime
    version: Annotated[int, Field(ge=0)] = 0
    """Turns so far."""


class Restored(_Part):
    """A valid state, and why it is not what was stored."""

    state: OrchestrationState
    resets: tuple[Reset, ...] = ()
    details: str = ""


def kept_of_user(stored: Mapping[str, Any]) -> Data:
    """Return what is kept of a user in all sessions, by names without their prefix."""
    return {
        name.removeprefix(USER_PREFIX): value
        for name, value in stored.items()
        if name.startswith(USER_PREFIX)
    }


def user_time_zone(stored: Mapping[str, Any], rules: OrchestrationRules) -> ZoneInfo:
    """Return the user's time zone; that of the rules if the stored one is invalid."""
    try:
        return ZoneInfo(stored.get(TIME_ZONE_KEY) or rules.time_zone)
    except (KeyError, TypeError, ValueError, OSError):
        return ZoneInfo(rules.time_zone)


def restore(
    stored: object,
    *,
    user_id: str,
    session_id: str,
    scenes: Mapping[str, Collection[str]],
    now: datetime,
    rules: OrchestrationRules,
) -> Restored:
    """Validate what was stored; what does not hold any more is reset, and never raises.

    Args:
        stored: The value of `STATE_KEY`; None in a new session.
        scenes: The phases of each scene by its name, the first ones those that they begin with;
            the first scene is the default one.
        now: In the user's time zone: a day ends when theirs does.
    """
    fresh = _fresh(user_id, session_id, scenes, now)
    if stored is None:
        return Restored(state=fresh)
    try:
        state = OrchestrationState.model_validate(stored)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(step) for step in first["loc"])
        return Restored(state=fresh, resets=("bad_shape",), details=f"{where}: {first['msg']}")
    if (state.user_id, state.session_id) != (user_id, session_id):
        # a fork carries the state of the session that it was made from
        state = state.model_copy(update={"user_id": user_id, "session_id": session_id})
    known = scenes.get(state.active_scene)
    if known is None or state.scene_state.phase not in known:
        details = f"{state.active_scene}/{state.scene_state.phase}"
        return Restored(state=fresh, resets=("unknown_scene",), details=details)
    latest = min(state.last_activity, now)
    if rules.forgets and now - latest >= timedelta(seconds=rules.expire_s):
        return Restored(state=_back(fresh, state, {}), resets=("expired",))
    if rules.forgets and latest.astimezone(now.tzinfo).date() < now.date():
        return Restored(state=_back(fresh, state, {}), resets=("new_day",))
    if state.active_scene != fresh.active_scene and now > _kept_until(state, latest, rules):
        kept = carried(state.scene_state.data, rules)
        return Restored(state=_back(fresh, state, kept), resets=("idle",))
    if (pending := state.pending_switch) is not None and pending.target not in scenes:
        state = state.model_copy(update={"pending_switch": None})
        return Restored(state=state, resets=("unknown_scene",), details=f"asked: {pending.target}")
    return Restored(state=state)


def carried(data: Data, rules: OrchestrationRules) -> Data:
    """The part of a scene's data that other scenes get too."""
    return {key: value for key, value in data.items() if key in rules.carried}


def deadline(scene: str, default: str, now: datetime, rules: OrchestrationRules) -> datetime | None:
    """Until when a scene is kept without a message."""
    return None if scene == default else now + timedelta(seconds=rules.idle_s)


def _kept_until(state: OrchestrationState, latest: datetime, rules: OrchestrationRules) -> datetime:
    """Until when another scene than the default one is kept; no client makes that longer."""
    longest = latest + timedelta(seconds=rules.idle_s)
    return longest if state.ttl_deadline is None else min(state.ttl_deadline, longest)


def _fresh(
    user_id: str, session_id: str, scenes: Mapping[str, Collection[str]], now: datetime
) -> OrchestrationState:
    scene, phases = next(iter(scenes.items()))
    return OrchestrationState(
        user_id=user_id,
        session_id=session_id,
        active_scene=scene,
        scene_state=SceneState(phase=next(iter(phases))),
        last_activity=now,
        updated_at=now,
    )


def _back(fresh: OrchestrationState, state: OrchestrationState, kept: Data) -> OrchestrationState:
    """The default scene, with what is kept of the session."""
    return fresh.model_copy(
        update={
            "scene_state": SceneState.of(fresh.scene_state.phase, kept),
            "version": state.version,
            "last_intent": state.last_intent,
        }
    )
