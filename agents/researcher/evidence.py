"""Evidence of a run: the pages that it has read, the claims that it has noted, their check."""

import asyncio
import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from pydantic import TypeAdapter, ValidationError

from mcp_tools.evidence import Claim, Page, Proof, prove, stands_in, statements_of
from mcp_tools.evidence.marking import show_evidence
from mcp_tools.evidence.proof import Contradiction
from mcp_tools.evidence.statements import sources_of
from mcp_tools.publishing.errors import PublishingError
from mcp_tools.publishing.html import Amend, make_page
from mcp_tools.publishing.tree import Element
from mcp_tools.web.web import Page as WebPage
from oda import Capability, ToolPolicy, idempotent
from oda.agent.resume import events_of
from oda.errors import NotFoundError, WorkspaceError
from oda.telemetry import get_logger
from oda.workspace.tools import answering_refusals, workspace_of
from oda.workspace.workspace import DATA, OUTPUT, Workspace

from .articles.store import published
from .brief import Brief
from .going_on import Base
from .publishing import ARTICLE, CLAIMS

log = get_logger(__name__)

_PAGES = f"{DATA}/pages"
_NOTED = f"{DATA}/claims"
_MOST_NOTED = 50
_LONGEST = 2_000
_MOST_TOLD = 30
_WRITING = ("write_file", "edit_file")
_READING = frozenset({"run_python", "read_file", "read_video"})
_CLAIMS = TypeAdapter(list[Claim])


async def keep_page(workspace: Workspace, page: WebPage) -> None:
    """Keep a page that was read; one for which there is no room is only not kept."""
    kept = Page(
        url=page.url,
        final_url=page.final_url,
        title=page.title,
        published=page.published,
        text=page.text,
    )
    name = hashlib.sha256(page.url.encode()).hexdigest()[:16]
    try:
        await workspace.write(f"{_PAGES}/{name}.json", kept.model_dump_json().encode())
    except WorkspaceError as error:
        log.warning("page_not_kept", url=page.url, reason=str(error))


async def pages_of(workspace: Workspace) -> list[Page]:
    """Return the pages that a run has read."""
    found = [one for one in await workspace.list() if one.path.startswith(f"{_PAGES}/")]
    return [Page.model_validate_json(await workspace.read(one.path)) for one in found]


@idempotent
@answering_refusals
async def note_claims(claims: list[dict[str, str]], tool_context: ToolContext) -> dict[str, Any]:
    """Note what the article is going to say, each with the passage of a fetched page that says it.

    Args:
        claims: Each with claim (a sentence of the article), quotation (the words of the page,
            exactly; … leaves something out) and source (the address that was fetched).

    Returns:
        noted, refused (with the reason: say it otherwise or leave it out), contradictions (pages
        that say something else: say so in the article).
    """
    async with workspace_of(tool_context) as workspace:
        pages = await pages_of(workspace)
        sound: list[Claim] = []
        refused: list[dict[str, str]] = []
        for given in claims[:_MOST_NOTED] if isinstance(claims, list) else ():
            claim, reason = _checked(given, pages)
            if claim is None:
                refused.append({"claim": _text(given, "claim"), "reason": reason})
            else:
                sound.append(claim)
        if sound:
            data = _CLAIMS.dump_json(sound)
            name = hashlib.sha256(data).hexdigest()[:16]
            await workspace.write(f"{_NOTED}/{name}.json", data)
    proof = await asyncio.to_thread(prove, (), pages, noted=sound)
    return {
        "noted": len(sound),
        "refused": refused,
        "contradictions": [_in_words(one) for one in proof.contradictions],
    }


async def check_written(
    tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, tool_response: Any
) -> dict[str, Any] | None:
    """Tell who has written the article what of it stands in no page; an `after_tool_callback`."""
    is_article = args.get("path") == f"{OUTPUT}/{ARTICLE}" and tool.name in _WRITING
    if not is_article or not isinstance(tool_response, dict) or "error" in tool_response:
        return None
    async with workspace_of(tool_context) as workspace:
        written = (await workspace.read(f"{OUTPUT}/{ARTICLE}")).decode("utf-8", "replace")
        evidence = await Evidence.of(workspace, tool_context)
    if evidence.amend is None:
        return None
    try:
        await asyncio.to_thread(make_page, written, amend=evidence.check)
    except PublishingError:
        return None
    proof = evidence.proof
    if proof is None or not (proof.unproven or proof.contradictions):
        return None
    told = [{"text": one.statement.text, "not_found": one.what} for one in proof.unproven]
    return {
        **tool_response,
        "not_in_the_pages": told[:_MOST_TOLD],
        "contradictions": [_in_words(one) for one in proof.contradictions],
        "note": "read a page that says it, leave it out, or say that it is not certain",
    }


class Evidence:
    """What proves an article; `amend` puts it there when the article is made."""

    def __init__(
        self,
        pages: Sequence[Page],
        known: Sequence[Page],
        noted: Sequence[Claim],
        earlier: Sequence[Claim],
        *,
        needed: bool,
    ) -> None:
        self.pages = pages
        self._known = known
        self._noted = noted
        self._earlier = earlier
        self._needed = needed or bool(pages or earlier)
        self.proof: Proof | None = None

    @classmethod
    async def of(cls, workspace: Workspace, context: CallbackContext) -> "Evidence":
        """Collect what a run has read."""
        brief = Brief.of(context.state)
        known = [Page(url="request", text=brief.prompt), *_results(context)]
        noted: list[Claim] = []
        for file in await workspace.list():
            if file.path.startswith(f"{_NOTED}/"):
                noted += _read_claims(await workspace.read(file.path))
        earlier: list[Claim] = []
        if brief.base is not None and CLAIMS in brief.base.names:
            earlier = await _earlier(context.user_id, brief.base)
        elif brief.base is not None:
            known.append(Page(url="earlier version", text=brief.base.text))
        needed = brief.template is not None and brief.kind.is_researched
        return cls(await pages_of(workspace), known, noted, earlier, needed=needed)

    @property
    def amend(self) -> Amend | None:
        """Marks and shows; None where nothing was to be read."""
        return self._amend if self._needed else None

    @property
    def claims(self) -> bytes:
        """The content of claims.json."""
        told = [one.model_dump() for one in self.proof.claims] if self.proof else []
        return json.dumps(told, ensure_ascii=False, indent=1).encode()

    def check(self, root: Element, language: str) -> None:
        """Find out what is proven, and change nothing."""
        self.proof = prove(
            [*statements_of(root)],
            self.pages,
            noted=self._noted,
            earlier=self._earlier,
            sources=sources_of(root),
            known=self._known,
        )

    def _amend(self, root: Element, language: str) -> None:
        self.check(root, language)
        if self.proof is not None:
            show_evidence(root, self.proof, self.pages, language)


def _results(context: CallbackContext) -> Iterator[Page]:
    """Yield what tools have given in the run that are no pages: files that were read, results of
    code."""
    for event in events_of(context.session.events, context.invocation_id):
        for response in event.get_function_responses():
            if response.name in _READING:
                text = "\n".join(map(str, (response.response or {}).values()))
                yield Page(url=response.name, text=text)


async def _earlier(owner: str, base: Base) -> list[Claim]:
    """Return what was proven of an earlier version: as it was published, not as it lies here."""
    try:
        found = await published.content(owner, base.article_id, CLAIMS, base.version)
    except NotFoundError:  # it has been deleted meanwhile
        return []
    return _read_claims(found.content)


def _checked(given: object, pages: Sequence[Page]) -> tuple[Claim | None, str]:
    claim, quotation, source = (_text(given, name) for name in ("claim", "quotation", "source"))
    page = next((one for one in pages if one.has_address(source)), None)
    if not claim:
        return None, "claim is missing"
    if page is None:
        return None, "this page has not been fetched"
    if not stands_in(quotation, page.plain):
        return None, "the quotation does not stand in the page"
    sound = Claim(
        claim=claim,
        quotation=quotation,
        source=page.url,
        title=page.title,
        date=page.published,
        found=True,
    )
    return sound, ""


def _text(given: object, name: str) -> str:
    value = given.get(name) if isinstance(given, dict) else None
    return value[:_LONGEST] if isinstance(value, str) else ""


def _read_claims(data: bytes) -> list[Claim]:
    """Claims that were noted; what somebody else has written there counts for nothing."""
    try:
        return [one for one in _CLAIMS.validate_json(data) if one.found and one.quotation]
    except ValidationError:
        return []


def _in_words(one: Contradiction) -> dict[str, Any]:
    return {
        "one": {"quotation": one.one.quotation, "source": one.one.source},
        "other": {"quotation": one.other.quotation, "source": one.other.source},
    }


CLAIMS_NOTED = Capability(
    "claims",
    """\
- Before you write, note each statement with a figure, name, date or relation with note_claims: the
  sentence, the words of the fetched page that say it, and its address. A quotation that does not
  stand in the page is refused; then correct the statement or leave it out.
- What is written to output/article.html is checked against the pages: the answer names what stands
  in none of them. Mend it before you finish. What stays is marked for the reader.
- Where pages contradict each other, say in the article who says what.""",
    tools=[note_claims],
    tool_policy=ToolPolicy(allow=(note_claims.__name__,)),
    untrusted=(note_claims.__name__,),
)
