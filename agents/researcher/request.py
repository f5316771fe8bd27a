"""Parsing of messages to the researcher: words, a request with a template, or one for a revision.

The latter are JSON, so that any interface can carry them: `{"template": …, "prompt": …,
"options"?: …, "files"?: [names of the session's artifacts]}`, `{"article": …, "prompt": …}`.
"""

import json
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError

from oda.message.storable import storable

LONGEST_PROMPT = 20_000
"""Characters."""
MOST_FILES = 20


class ArticleRequest(BaseModel):
    """A request for an article, as sent to the agent."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    template: Annotated[str, Field(max_length=64)]
    prompt: Annotated[str, Field(max_length=LONGEST_PROMPT)] = ""
    options: dict[str, JsonValue] = {}
    files: Annotated[tuple[str, ...], Field(max_length=MOST_FILES)] = ()
    """Names of artifacts of the session."""

    def as_text(self) -> str:
        """The message as it is sent to the agent."""
        return json.dumps(storable(self.model_dump(mode="json")), ensure_ascii=False)


class RevisionRequest(BaseModel):
    """A request for a new version of an article."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    article: Annotated[str, Field(max_length=64)]
    """Its id."""
    prompt: Annotated[str, Field(min_length=1, max_length=LONGEST_PROMPT)]

    def as_text(self) -> str:
        """The message as it is sent to the agent."""
        return json.dumps(storable(self.model_dump(mode="json")), ensure_ascii=False)


_REQUEST: TypeAdapter[ArticleRequest | RevisionRequest] = TypeAdapter(
    ArticleRequest | RevisionRequest
)


def read_request(text: str) -> ArticleRequest | RevisionRequest | str:
    """Tell what a message is; what is no valid JSON of this shape is words."""
    try:
        decoded: Any = storable(json.loads(text))
    except (ValueError, RecursionError):
        return text
    try:
        return _REQUEST.validate_python(decoded)
    except ValidationError:
        return text
