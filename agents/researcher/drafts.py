"""What a run has so far is kept while it runs, so that one that dies leaves an article.

Before each call of the model output/article.html, or without one the notes of the run, are kept as
an article that is not finished; the run's end puts the finished one in its place.
"""

from collections.abc import Sequence

from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest
from google.genai.types import FunctionCall

from oda import Deliverable
from oda.clock import SystemClock, utc
from oda.message.language import language_of
from oda.telemetry import get_logger
from oda.workspace.workspace import DATA, OUTPUT, FileInfo, Workspace

from .articles.records import Run
from .brief import Brief
from .evidence import Evidence
from .going_on import Base, hashes_of
from .publishing import ARTICLE, NEW_ARTICLE, PREVIEW, NoArticleError, is_article, publish
from .wording import wording
from .workspaces import open_workspace

log = get_logger(__name__)

_KEPT = "temp:researcher_kept_draft"
_NOTES = (".md", ".txt")
_LONGEST_NOTES = 200_000
_clock = SystemClock()


async def keep_draft(callback_context: CallbackContext, llm_request: LlmRequest) -> None:
    """Keep what there is, if it has changed; a `before_model_callback`."""
    brief = Brief.of(callback_context.state)
    if brief.template is None and brief.base is None:
        return
    async with await open_workspace(callback_context) as workspace:
        found = await workspace.list()
        article = is_written(found)
        if brief.base is not None and not await _goes_on(workspace, brief.base):
            return
        shown = [file for file in found if file.path.startswith(f"{OUTPUT}/")] if article else []
        state = repr([(file.path, file.bytes, file.modified_at) for file in shown or notes(found)])
        if not (shown or notes(found)) or callback_context.state.get(_KEPT) == state:
            return
        try:
            await publish(
                workspace,
                owner=callback_context.user_id,
                run=run_of(callback_context),
                template=brief.kind,
                reply="" if article else await draft_of_notes(workspace, brief),
                now=utc(_clock),
                request=brief.subject,
                article_id=brief.base.article_id if brief.base else None,
                finished=False,
                evidence=await Evidence.of(workspace, callback_context) if article else None,
            )
        except NoArticleError as error:
            log.info("draft_not_kept", reason=str(error))
    callback_context.state[_KEPT] = state


async def draft_of_notes(workspace: Workspace, brief: Brief, said: str = "") -> str:
    """Return the Markdown of an article of notes, which says that it is none yet.

    Args:
        workspace: Of the run.
        brief: Of the run.
        said: What the model has said last.
    """
    language = language_of(brief.prompt)
    room = _LONGEST_NOTES
    written: list[str] = []
    for file in notes(await workspace.list()):
        if file.bytes <= room:
            room -= file.bytes
            written.append((await workspace.read(file.path)).decode("utf-8", "replace"))
    if said.strip():
        written.append(said)
    if not written:
        return ""
    title = " ".join(brief.subject.split())[:200].lstrip("#")
    return "\n\n".join([f"# {title}", wording("unfinished", language), *written])


def notes(found: Sequence[FileInfo]) -> list[FileInfo]:
    """Return the files in which a run takes notes."""
    return [file for file in found if _is_note(file.path)]


def is_written(found: Sequence[FileInfo]) -> bool:
    """Return whether there is an article among files of a workspace."""
    written = (f"{OUTPUT}/{ARTICLE}",)
    return any(file.path in written or file.path.endswith(PREVIEW) for file in found)


def run_of(context: CallbackContext) -> Run:
    """Return the run that a callback or a node belongs to."""
    return Run(context.session.app_name, context.session.id, context.invocation_id)


async def _goes_on(workspace: Workspace, base: Base) -> bool:
    """Return whether the article that was brought in has been changed, and no other is written."""
    there = await hashes_of(workspace)
    page = f"{OUTPUT}/{ARTICLE}"
    return f"{OUTPUT}/{NEW_ARTICLE}" not in there and there.get(page) not in (
        None,
        base.files.get(page),
    )


async def _missing(context: CallbackContext, answer: str) -> str | None:
    """Say that the article of a run is missing, if it has to have one and the answer is none."""
    brief = Brief.of(context.state)
    async with await open_workspace(context) as workspace:
        if brief.base is not None:
            is_done = not brief.ordered or await hashes_of(workspace) != brief.base.files
            return None if is_done else f"{OUTPUT}/{ARTICLE} has not been changed as it was asked."
        if brief.template is None or is_written(await workspace.list()):
            return None
        if is_article(answer, whole_answer=False):
            return None
    return f"{OUTPUT}/{ARTICLE} has not been written."


THE_ARTICLE = Deliverable(
    missing=_missing,
    tools=("write_file", "edit_file", "write_translations"),
    look=FunctionCall(name="list_files", args={"path": OUTPUT}),
)
"""What every run for a template has to leave behind."""


def _is_note(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    return folder == DATA and name.lower().endswith(_NOTES)
