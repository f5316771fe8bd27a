"""The child whose records a request is about, and whether its parent asks."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated

from fastapi import Depends, Query

from oda.clock import SystemClock, utc
from oda.identity.principal import current_principal
from oda.orchestration.state import user_time_zone
from oda.server import AppConversations, Conversations, Refusal

from ..parents.families import families
from ..rules import rules

_clock = SystemClock()

Named = Annotated[
    str | None,
    Query(
        alias="child",
        min_length=1,
        max_length=128,
        json_schema_extra={"format": "id"},
        description="Whose records; by default the caller's, or those of a parent's only child",
    ),
]


@dataclass(frozen=True)
class Child:
    """A child, and what time it is there."""

    user_id: str
    now: datetime

    @property
    def today(self) -> date:
        """The child's day."""
        return self.now.date()


async def _own_or_looked_after(conversations: Conversations, named: Named = None) -> Child:
    caller = conversations.user_id
    child_id = named or _by_default(caller)
    if child_id != caller and not (_is_admin() or families().looks_after(caller, child_id)):
        raise Refusal(
            403,
            "The credential is not that of a parent of this child.",
            code="not_your_child",
            remedy="leave `child` out, or use the parent's credential",
        )
    return await _child(conversations.of_user(child_id))


async def _looked_after(conversations: Conversations, named: Named = None) -> Child:
    caller = conversations.user_id
    if families() and not families().is_parent(caller) and not _is_admin():
        raise Refusal(
            403,
            "This is for parents: the credential is that of a child.",
            code="parents_only",
            remedy="use the credential of a parent, as ODA_COMPANION__PARENTS names them",
        )
    return await _own_or_looked_after(conversations, named)


def _by_default(caller: str) -> str:
    if not families().is_parent(caller):
        return caller
    children = families().children_of(caller)
    if len(children) == 1:
        return children[0]
    raise Refusal(
        422,
        "A parent of several children must say which one is meant.",
        code="which_child",
        remedy="give `child`; `GET /api/companion/children` lists them",
        details={"children": list(children)},
    )


def _is_admin() -> bool:
    """Return whether the caller has proved to be an admin; on an open server nobody has."""
    principal = current_principal.get()
    return principal is not None and principal.is_admin and principal.proven


async def _child(conversations: AppConversations) -> Child:
    zone = user_time_zone(await conversations.user_state(), rules())
    return Child(conversations.user_id, utc(_clock).astimezone(zone))


AskedChild = Annotated[Child, Depends(_own_or_looked_after)]
"""The calling user, or a child that it looks after."""
ChildOfParent = Annotated[Child, Depends(_looked_after)]
"""The same for what children may not do, where there are roles."""
