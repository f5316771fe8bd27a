"""The nodes of a run around the model: prepare, search, watch, publish."""

from dataclasses import asdict
from pathlib import PurePosixPath

from google.adk.agents.context import Context
from google.adk.events import Event, EventActions
from google.genai.types import Content, Part
from pydantic_core import to_json

from mcp_tools.web.errors import BusyError, SearchError, SearchNotConfiguredError, WebError
from oda import model_configured
from oda.clock import SystemClock, utc
from oda.errors import NotConfiguredError, UnavailableError
from oda.message.language import language_of
from oda.telemetry import get_logger
from oda.tools.untrusted import marked
from oda.workspace.keeping import keep_outputs
from oda.workspace.workspace import Workspace
from oda.workspace.workspaces import current_workspaces

from .articles.records import Article, Run
from .brief import Brief, read_brief, said_before
from .free import FREE
from .publishing import ARTICLE
from .publishing import publish as publish_article
from .template import Template
from .templates import templates
from .web import the_web

log = get_logger(__name__)

TALK, SEARCH, WATCH, WRITE = "talk", "search", "watch", "write"
"""Routes besides the names of the templates on which an agent works."""

ARTICLE_KEY = "oda_article"
"""Metadata of the event that tells of an article: its id, title and files."""

_clock = SystemClock()
_QUERY_CHARS = 300
_QUERY_WORDS = 40


async def open_workspace(context: Context) -> Workspace:
    """Open the workspace of the run; the caller must close it."""
    return await current_workspaces().open(context.session.id, context.invocation_id)


async def prepare(ctx: Context) -> Event:
    """Read the message, put its files into the workspace, and choose the way.

    Raises:
        NotConfiguredError: an article is wanted, and there is no model to write one.
        InvalidRequestError: no template is made of the message.
    """
    async with await open_workspace(ctx) as workspace:
        brief = await read_brief(ctx, workspace)
    if brief.template is None:
        route, told = TALK, _talk(ctx, brief)
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
    """Search once for the request's prompt; return the results as text for the model.

    Raises:
        NotConfiguredError: no search provider is configured.
        UnavailableError: the provider does not answer.
    """
    brief = Brief.of(ctx.state)
    query = " ".join(brief.prompt.split()[:_QUERY_WORDS])[:_QUERY_CHARS]
    try:
        async with the_web.use() as web:
            found = await web.search(query)
    except SearchNotConfiguredError as error:
        raise NotConfiguredError(
            f"The template {brief.template!r} needs a web search.", remedy=str(error)
        ) from error
    except (SearchError, BusyError) as error:
        raise UnavailableError(f"The web search has failed: {error}") from error
    except WebError as error:
        raise NotConfiguredError("The web search cannot be used.", remedy=str(error)) from error
    results = "\n\n".join(
        to_json(marked(asdict(result)), indent=1).decode() for result in found.results
    )
    template = templates().get(brief.template or "")
    return brief.text_for(template, search_results=results or "(nothing was found)")


async def publish(ctx: Context, node_input: str) -> Event | None:
    """Store the article of the run, and keep its files; says what there is now."""
    brief = Brief.of(ctx.state)
    template = FREE if brief.template is None else templates().get(brief.template)
    async with await open_workspace(ctx) as workspace:
        for left in (await keep_outputs(workspace, ctx)).left_out:
            log.warning("file_not_kept", path=left.path, reason=left.reason)
        if template is FREE and await workspace.find(f"output/{ARTICLE}") is None:
            return None
        article = await publish_article(
            workspace,
            owner=ctx.user_id,
            run=Run(ctx.session.app_name, ctx.session.id, ctx.invocation_id),
            template=template,
            reply=node_input,
            now=utc(_clock),
            request=brief.prompt or " ".join(PurePosixPath(one).name for one in brief.files),
        )
    return _published(article, template, brief)


def _published(article: Article, template: Template, brief: Brief) -> Event:
    names = [one.name for one in article.files]
    missing = template.missing_results(names, brief.files)
    lines = [article.title, article.summary, f"/api/articles/{article.id}/html"]
    if missing:
        said = "缺少的文件：" if language_of(brief.prompt) == "zh" else "Missing: "
        lines.append(f"{said}{', '.join(missing)}")
    told = {"id": article.id, "title": article.title, "files": names, "missing": missing}
    return Event(
        content=Content(role="model", parts=[Part(text="\n".join(filter(None, lines)))]),
        custom_metadata={ARTICLE_KEY: told},
    )


def _route(template: Template) -> str:
    if template.flow == "video":
        return WATCH
    if template.agent_mode:
        return template.name
    return SEARCH if template.search else WRITE


def _talk(context: Context, brief: Brief) -> str:
    before = said_before(context.session.events, context.invocation_id)
    files = "\n".join(f"- {path}" for path in brief.files)
    sections = (
        ("What was said before in this conversation", before),
        ("Files that came with the message", files),
        (f"The message (today is {brief.day.isoformat()})", brief.prompt),
    )
    return "\n\n".join(f"# {title}\n\n{text}" for title, text in sections if text)
