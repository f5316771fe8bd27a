"""Versions of the session's article in talk: by rules in the node `versions`, else by tools."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from google.adk.agents.context import Context
from google.adk.events import Event
from google.adk.tools.tool_context import ToolContext
from google.genai.types import Content, Part

from mcp_tools.publishing.comparison import Change, compare
from oda import Capability, ToolPolicy, idempotent
from oda.clock import SystemClock, utc
from oda.errors import NotFoundError
from oda.message.language import Language, language_of
from oda.workspace.tools import answering_refusals, workspace_of

from .articles.records import Article, Run
from .articles.store import published
from .brief import Brief
from .going_on import bring
from .publishing import ARTICLE
from .wishes import BEFORE, LATEST, Wish, wish_of
from .wording import wording

_clock = SystemClock()
_MOST_SHOWN = 12
_LONGEST_SHOWN = 600
_MOST_FOR_MODEL = 60


async def versions(ctx: Context) -> Event | None:
    """Do what a message wishes of the versions; the reply is by rules."""
    brief = Brief.of(ctx.state)
    wish = wish_of(brief.prompt)
    if wish is None or brief.base is None:
        return None
    language = language_of(brief.prompt)
    article_id = brief.base.article_id
    try:
        match wish.kind:
            case "list":
                text = _listing(await published.versions(ctx.user_id, article_id), language)
            case "compare":
                text = await _comparison(ctx.user_id, article_id, wish, language)
            case "restore":
                run = Run(ctx.session.app_name, ctx.session.id, ctx.invocation_id)
                text = await _restoring(ctx.user_id, article_id, wish, run, language)
    except NoVersionError as error:
        text = error.in_words(language)
    return Event(content=Content(role="model", parts=[Part(text=text)]))


@idempotent
@answering_refusals
async def list_versions(tool_context: ToolContext) -> dict[str, Any]:
    """List the versions of the article that this conversation is about, the newest first."""
    base = Brief.of(tool_context.state).base
    if base is None:
        return _NO_ARTICLE
    found = await published.versions(tool_context.user_id, base.article_id)
    shown = {"version", "title", "created_at", "change", "restored_from", "finished"}
    return {"versions": [one.model_dump(mode="json", include=shown) for one in found]}


@idempotent
@answering_refusals
async def compare_versions(before: int, after: int, tool_context: ToolContext) -> dict[str, Any]:
    """Compare two versions of the article: which passages were added, removed and changed.

    Args:
        before: The number of a version.
        after: The number of another one.
    """
    base = Brief.of(tool_context.state).base
    if base is None:
        return _NO_ARTICLE
    try:
        changes = await changes_between(tool_context.user_id, base.article_id, before, after)
    except NotFoundError as error:
        return {"error": {"code": error.code, "message": str(error)}}
    more = len(changes) - _MOST_FOR_MODEL
    left_out = {"more": f"{more} further changes"} if more > 0 else {}
    return {"changes": [asdict(one) for one in changes[:_MOST_FOR_MODEL]], **left_out}


@idempotent
@answering_refusals
async def restore_version(version: int, tool_context: ToolContext) -> dict[str, Any]:
    """Put an earlier version of the article into output/, in place of what is there.

    When you have finished, it is published as a new version; no version is lost.

    Args:
        version: Its number.
    """
    base = Brief.of(tool_context.state).base
    if base is None:
        return _NO_ARTICLE
    try:
        article = await published.get(tool_context.user_id, base.article_id, version)
        async with workspace_of(tool_context) as workspace:
            await bring(workspace, tool_context.user_id, article)
    except NotFoundError as error:
        return {"error": {"code": error.code, "message": str(error)}}
    return {"restored": version, "title": article.title, "files": f"output/{ARTICLE} and others"}


_NO_ARTICLE = {
    "error": {"code": "not_found", "message": "There is no article in this conversation yet."}
}
_NAMES = ("list_versions", "compare_versions", "restore_version")

VERSIONS = Capability(
    "versions",
    "An article has versions: what you change in output/ becomes the next one when you have "
    "finished. list_versions, compare_versions and restore_version tell of earlier ones.",
    tools=[list_versions, compare_versions, restore_version],
    tool_policy=ToolPolicy(allow=_NAMES),
    untrusted=("compare_versions",),
)


class NoVersionError(Exception):
    """Raised when a message names a version that is not there."""

    def __init__(self, version: int, latest: int) -> None:
        super().__init__(version, latest)
        self._version, self._latest = version, latest

    def in_words(self, language: Language) -> str:
        """The reply."""
        if self._latest == 1 and self._version < 1:
            return wording("no_earlier", language)
        return wording("no_version", language, version=str(self._version), latest=str(self._latest))


async def changes_between(owner: str, article_id: str, before: int, after: int) -> Sequence[Change]:
    """Return how one version of an article differs from another.

    Raises:
        NotFoundError: a version does not exist.
    """
    pages = [
        (await published.content(owner, article_id, ARTICLE, one)).content.decode()
        for one in (before, after)
    ]
    return await asyncio.to_thread(compare, *pages)


def in_words(changes: Sequence[Change], language: Language) -> str:
    """Return changes as a list for a person, the first ones only if there are many."""
    lines = [
        f"- {wording(one.kind, language)}"
        f"{f' ({one.section})' if one.section and one.section != one.after else ''}: "
        f"{_cut(one.marked)}"
        for one in changes[:_MOST_SHOWN]
    ]
    if (more := len(changes) - _MOST_SHOWN) > 0:
        lines.append(wording("more_differences", language, count=str(more)))
    return "\n".join(lines)


async def _comparison(owner: str, article_id: str, wish: Wish, language: Language) -> str:
    known = await published.versions(owner, article_id)
    named = [_resolved(one, known) for one in wish.versions[:2]]
    if len(named) < 2:
        latest = _resolved(LATEST, known)
        earlier = [one for one in named if one != latest] or [_resolved(BEFORE, known)]
        named = [*earlier, latest]
    before, after = sorted(named)
    changes = await changes_between(owner, article_id, before, after)
    shown = {"before": str(before), "after": str(after)}
    if not changes:
        return wording("no_differences", language, **shown)
    return f"{wording('differences', language, **shown)}\n\n{in_words(changes, language)}"


async def _restoring(owner: str, article_id: str, wish: Wish, run: Run, language: Language) -> str:
    known = await published.versions(owner, article_id)
    made = next((one for one in known if one.run_id == run.run_id), None)
    if made is None:
        wanted = _resolved(wish.versions[0] if wish.versions else BEFORE, known)
        made = await published.restore(owner, article_id, wanted, utc(_clock), run)
        if made.run_id != run.run_id:
            return wording("already", language, version=str(wanted))
    said = wording(
        "restored",
        language,
        version=str(made.version),
        source=str(made.restored_from),
        title=made.title,
    )
    return f"{said}\n/api/articles/{article_id}/html"


def _listing(known: Sequence[Article], language: Language) -> str:
    lines = [wording("versions", language, title=known[0].title)]
    for one in known:
        made_by = one.change or wording("first", language)
        if one.restored_from is not None:
            made_by = wording("restored_from", language, version=str(one.restored_from))
        left = "" if one.finished else f" ({wording('not_finished', language)})"
        lines.append(f"{one.version}. {one.created_at:%Y-%m-%d %H:%M}: {made_by}{left}")
    return "\n".join(lines)


def _resolved(version: int, known: Sequence[Article]) -> int:
    """Return the number of a version; of an article that was restored, the one before is the one
    before what it brings back.

    Raises:
        NoVersionError: there is none.
    """
    shown = next((one for one in known if one.finished), known[0])
    if version == LATEST:
        return shown.version
    wanted = (shown.restored_from or shown.version) - 1 if version == BEFORE else version
    if all(one.version != wanted for one in known):
        raise NoVersionError(wanted, known[0].version)
    return wanted


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
