"""The nodes of a run around the model: prepare, search, watch, publish."""

from collections.abc import Sequence
from typing import Any

from google.adk.agents.context import Context
from google.adk.events import Event, EventActions
from google.genai.types import Content, Part

from mcp_tools.publishing.comparison import Change
from mcp_tools.web.errors import BusyError, SearchError, SearchNotConfiguredError, WebError
from oda import model_configured
from oda.clock import SystemClock, utc
from oda.errors import NotConfiguredError, UnavailableError
from oda.message.language import language_of
from oda.telemetry import get_logger
from oda.tools.untrusted import marked
from oda.workspace.keeping import keep_outputs
from oda.workspace.workspace import OUTPUT, Workspace

from .articles.records import Article
from .brief import Brief, read_brief, said_before
from .drafts import draft_of_notes, is_written, run_of
from .evidence import Evidence
from .free import FREE
from .going_on import Base, hashes_of
from .instructions import GOING_ON, article_rules
from .publishing import ARTICLE, NEW_ARTICLE, is_article
from .publishing import publish as publish_article
from .reading import read_results
from .template import Template
from .templates import templates
from .versions import changes_between, in_words
from .web import the_web
from .wishes import is_change, wish_of
from .wording import wording
from .workspaces import open_workspace

log = get_logger(__name__)

TALK, SEARCH, WATCH, WRITE, VERSIONS = "talk", "search", "watch", "write", "versions"
"""Routes besides the names of the templates on which an agent works."""

ARTICLE_KEY = "oda_article"
"""Metadata of the event that tells of an article: its id, title and files."""

_clock = SystemClock()
_QUERY_CHARS = 300
_QUERY_WORDS = 40
_LONGEST_SHOWN = 60_000
"""Characters of an article that stand in the prompt."""


async def prepare(ctx: Context) -> Event:
    """Read the message, put its files into the workspace, and choose the way.

    Raises:
        NotConfiguredError: an article is wanted, and there is no model to write one.
        InvalidRequestError: no template is made of the message.
    """
    async with await open_workspace(ctx) as workspace:
        brief = await read_brief(ctx, workspace)
        talk = "" if brief.template else await _talk(ctx, brief, workspace)
    if brief.base is not None and wish_of(brief.prompt):
        route, told = VERSIONS, ""
    elif brief.template is None:
        route, told = TALK, talk
    else:
        if not model_configured():
            raise NotConfiguredError(
                "An article needs a model, and none is configured.",
                remedy="set ODA_MODEL and the provider's key",
            )
        template = templates().get(brief.template)
        route = _route(template)
        told = "" if route in (SEARCH, WATCH) else brief.text_for(template)
    return Event(output=told, actions=EventActions(route=route, state_delta=brief.as_state()))


async def search(ctx: Context) -> str:
    """Search once for the request's prompt and read pages; return them as text for the model.

    Raises:
        NotConfiguredError: no search provider is configured.
        UnavailableError: the provider does not answer.
    """
    brief = Brief.of(ctx.state)
    query = " ".join(brief.prompt.split()[:_QUERY_WORDS])[:_QUERY_CHARS]
    try:
        async with the_web.use() as web:
            found = await web.search(query)
            async with await open_workspace(ctx) as workspace:
                told = await read_results(web, found.results, workspace)
    except SearchNotConfiguredError as error:
        raise NotConfiguredError(
            f"The template {brief.template!r} needs a web search.", remedy=str(error)
        ) from error
    except (SearchError, BusyError) as error:
        raise UnavailableError(f"The web search has failed: {error}") from error
    except WebError as error:
        raise NotConfiguredError("The web search cannot be used.", remedy=str(error)) from error
    return brief.text_for(templates().get(brief.template or ""), search_results=told)


async def publish(ctx: Context, node_input: str) -> Event | None:
    """Store the article of the run, and keep its files; says what there is now."""
    brief = Brief.of(ctx.state)
    async with await open_workspace(ctx) as workspace:
        outputs = await hashes_of(workspace)
        if brief.base is not None and outputs == brief.base.files:
            return _unchanged(brief, brief.base)
        for left in (await keep_outputs(workspace, ctx)).left_out:
            log.warning("file_not_kept", path=left.path, reason=left.reason)
        goes_on = brief.base is not None and f"{OUTPUT}/{NEW_ARTICLE}" not in outputs
        base = brief.base if goes_on else None
        kind = brief.kind if goes_on or brief.base is None else FREE
        written = bool({f"{OUTPUT}/{NEW_ARTICLE}"} & {*outputs}) or is_written(
            await workspace.list()
        )
        if kind is FREE and not written:
            return None
        reply, finished = node_input, True
        if not written:
            finished = is_article(reply, whole_answer=not kind.agent_mode)
            if not finished and kind.agent_mode:
                reply = await draft_of_notes(workspace, brief, reply)
        others = brief.base.files.items() if brief.base and not goes_on else ()
        article = await publish_article(
            workspace,
            owner=ctx.user_id,
            run=run_of(ctx),
            template=kind,
            reply=reply,
            now=utc(_clock),
            request=brief.subject,
            article_id=base.article_id if base else None,
            without=[path for path, content in others if outputs.get(path) == content],
            finished=finished,
            evidence=await Evidence.of(workspace, ctx),
        )
    changes = (
        await changes_between(ctx.user_id, base.article_id, base.version, article.version)
        if base is not None
        else ()
    )
    return _published(article, kind, brief, changes)


def _unchanged(brief: Brief, base: Base) -> Event | None:
    """Say that a change that was wished for has not been made, whatever the model says."""
    if not is_change(brief.prompt):
        return None
    language = language_of(brief.prompt)
    return _told(wording("unchanged", language, version=str(base.version)))


def _published(
    article: Article, template: Template, brief: Brief, changes: Sequence[Change]
) -> Event:
    language = language_of(brief.prompt)
    names = [one.name for one in article.files]
    missing = template.missing_results(names, brief.files)
    lines = [article.title, article.summary, f"/api/articles/{article.id}/html"]
    if article.version > 1:
        lines.insert(1, wording("version", language, version=str(article.version)))
    if not article.finished:
        lines.insert(1, wording("unfinished", language))
    if changes:
        lines.append(f"\n{in_words(changes, language)}")
    if missing:
        lines.append(wording("missing", language, files=", ".join(missing)))
    told = {
        "id": article.id,
        "version": article.version,
        "title": article.title,
        "files": names,
        "missing": missing,
        "finished": article.finished,
    }
    return _told("\n".join(filter(None, lines)), {ARTICLE_KEY: told})


def _told(text: str, metadata: dict[str, Any] | None = None) -> Event:
    content = Content(role="model", parts=[Part(text=text)])
    return Event(content=content, custom_metadata=metadata)


def _route(template: Template) -> str:
    if template.flow == "video":
        return WATCH
    if template.agent_mode:
        return template.name
    return SEARCH if template.search else WRITE


async def _talk(context: Context, brief: Brief, workspace: Workspace) -> str:
    before = said_before(context.session.events, context.invocation_id)
    files = "\n".join(f"- {path}" for path in brief.files)
    article = "" if brief.base is None else await _article(brief.base, workspace)
    sections = (
        ("What was said before in this conversation", before),
        ("The article of this conversation", article),
        ("Files that came with the message", files),
        (f"The message (today is {brief.day.isoformat()})", brief.prompt),
    )
    return "\n\n".join(f"# {title}\n\n{text}" for title, text in sections if text)


async def _article(base: Base, workspace: Workspace) -> str:
    path = f"{OUTPUT}/{ARTICLE}"
    written = (await workspace.read(path)).decode("utf-8", "replace")
    text = written[:_LONGEST_SHOWN]
    left = len(written) - len(text)
    return GOING_ON.filled(
        version=str(base.version),
        path=path,
        files="\n".join(f"- {one}" for one in base.files if one != path) or "(none)",
        article=str(marked(text)),
        left=f"({left} further characters; read them with run_python)" if left else "",
        article_rules=article_rules(in_file=True),
    )
