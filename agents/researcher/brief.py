"""The brief of a run: read from its message once, and available to all of its nodes."""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import PurePosixPath
from typing import Any

from google.adk.agents.context import Context
from google.adk.events import Event
from google.genai.types import Blob, Content, Part
from pydantic import BaseModel, ConfigDict

from oda.agent.run_limits import last_asked_at
from oda.errors import InvalidRequestError
from oda.workspace.keeping import take_uploads, upload_name
from oda.workspace.workspace import Workspace

from .articles.store import published
from .free import FREE
from .going_on import Base, bring
from .options import OptionValue
from .request import ArticleRequest, RevisionRequest, read_request
from .template import Template
from .templates import templates

_STATE_KEY = "researcher_run"
_MOST_SAID = 12
_LONGEST_SAID = 2000


class Brief(BaseModel):
    """A run."""

    model_config = ConfigDict(frozen=True)

    template: str | None = None
    """None where somebody just says something."""
    prompt: str
    options: dict[str, OptionValue] = {}
    files: tuple[str, ...] = ()
    """Files that came with the message, as paths in the workspace."""
    day: date
    """On which it was asked, UTC."""
    base: Base | None = None
    """The article that it goes on with."""
    ordered: bool = False
    """Whether a new version of it has been ordered, not just talked about."""

    @property
    def kind(self) -> Template:
        """The template of what is to come of it."""
        if self.base is not None:
            return self.base.kind
        return FREE if self.template is None else templates().get(self.template)

    @property
    def subject(self) -> str:
        """What it is about, in the person's words or by the names of the files."""
        return self.prompt or " ".join(PurePosixPath(one).name for one in self.files)

    @classmethod
    def of(cls, state: Any) -> "Brief":
        """The brief of the run that a session is in."""
        return cls.model_validate(state[_STATE_KEY])

    def as_state(self) -> dict[str, Any]:
        """The change of the session's state that tells it to later nodes."""
        return {_STATE_KEY: self.model_dump(mode="json")}

    def text_for(self, template: Template, *, search_results: str = "") -> str:
        """Return the prompt for the model."""
        return template.prompt_for(
            self.prompt,
            options=self.options,
            date=self.day.isoformat(),
            files=self.files,
            search_results=search_results,
        )


async def read_brief(context: Context, workspace: Workspace) -> Brief:
    """Read the message of a turn; its files are in input/ then.

    Raises:
        InvalidRequestError: no template is made of this.
        NotFoundError: the article that it names does not exist.
        QuotaExceededError: the files are too large.
    """
    content = context.user_content or Content(parts=[])
    asked = read_request(_words(content))
    asked_at = last_asked_at(context.session.events, context.invocation_id)
    day = datetime.fromtimestamp(asked_at, UTC).date()
    if isinstance(asked, str):
        paths = await take_uploads(workspace, content.parts or ())
        article = await published.of_session(context.user_id, context.session.id)
        base = article and await bring(workspace, context.user_id, article)
        return Brief(prompt=asked, files=tuple(paths), day=day, base=base)
    if isinstance(asked, RevisionRequest):
        paths = await take_uploads(workspace, content.parts or ())
        article = await published.get(context.user_id, asked.article)
        base = await bring(workspace, context.user_id, article)
        return Brief(prompt=asked.prompt, files=tuple(paths), day=day, base=base, ordered=True)
    template = templates().get(asked.template)
    options = template.checked_options(asked.options)
    names = [*asked.files, *_names_of(content)]
    template.check_files(names)
    _check_words(asked, names)
    kept = [await _artifact(context, name) for name in asked.files]
    paths = await take_uploads(workspace, [*kept, *(content.parts or ())])
    return Brief(
        template=template.name,
        prompt=asked.prompt,
        options=options,
        files=tuple(paths),
        day=day,
    )


def check(asked: ArticleRequest) -> None:
    """Check that a request can be fulfilled, before it is submitted.

    Raises:
        InvalidRequestError: the template does not accept the request.
    """
    template = templates().get(asked.template)
    template.checked_options(asked.options)
    template.check_files(asked.files)
    _check_words(asked, asked.files)


def said_before(events: Sequence[Event], invocation_id: str) -> str:
    """The latest of what was said in a session before a turn, without tool calls and files."""
    said = [
        f"{'User' if event.author == 'user' else 'You'}: {text[:_LONGEST_SAID]}"
        for event in events
        if event.invocation_id != invocation_id
        and not event.partial
        and (event.author != "user" or not event.node_info.path)
        and not event.get_function_calls()
        and (text := _words(event.content).strip())
    ]
    return "\n\n".join(said[-_MOST_SAID:])


def _check_words(asked: ArticleRequest, files: Sequence[str]) -> None:
    if not asked.prompt.strip() and not files:
        raise InvalidRequestError("prompt: is empty.", remedy="say what the article is to be about")


async def _artifact(context: Context, name: str) -> Part:
    part = await context.load_artifact(name)
    if part is None or part.inline_data is None:
        raise InvalidRequestError(
            f"files: there is no artifact {name!r} in this session.", remedy="upload it first"
        )
    blob = part.inline_data
    file_name = name.rpartition("/")[2]
    return Part(inline_data=Blob(data=blob.data, mime_type=blob.mime_type, display_name=file_name))


def _names_of(content: Content) -> list[str]:
    blobs = [part.inline_data for part in content.parts or () if part.inline_data]
    return [
        upload_name(blob.display_name, blob.mime_type) for blob in blobs if blob.data is not None
    ]


def _words(content: Content | None) -> str:
    parts = (content and content.parts) or ()
    return "\n".join(part.text for part in parts if part.text and not part.thought)
