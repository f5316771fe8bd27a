"""The artifacts of a user's sessions as MCP resources."""

import base64
import re
from collections.abc import Container
from urllib.parse import quote, unquote

from mcp.types import (
    BlobResourceContents,
    ListResourcesResult,
    ReadResourceResult,
    Resource,
    ResourceLink,
    ResourceTemplate,
    TextResourceContents,
)

from oda.errors import ArtifactNotFoundError
from oda.server.mcp.visit import Visit
from oda.session.artifacts import ArtifactContent, ArtifactInfo, check_artifact_name
from oda.session.oda_session import OdaSession

_SESSIONS_A_PAGE = 20
_URI = re.compile(r"oda://([^/]+)/sessions/([^/]+)/artifacts/(.+)")
_OF_THE_USER = "user:"
_IS_TEXT = re.compile(r"text/|application/([\w.-]+\+)?(json|xml|yaml)\b")


def template_of(app: str) -> ResourceTemplate:
    """Return the form of the addresses of an app's artifacts."""
    return ResourceTemplate(
        name="artifact",
        title="File of a session",
        uri_template=f"oda://{quote(app)}/sessions/{{session_id}}/artifacts/{{+name}}",
        description="The newest version of a file that an agent or its user has made.",
    )


async def listed(visit: Visit, cursor: str | None) -> ListResourcesResult:
    """Return the artifacts of a page of the user's sessions, the most recently used first.

    Raises:
        InvalidRequestError: the cursor is malformed.
    """
    app, user = visit.app, visit.conversations.user_id
    page = await visit.oda.sessions.list(app, user, limit=_SESSIONS_A_PAGE, cursor=cursor)
    found: dict[str, Resource] = {}
    for one in page.sessions:
        if (session := await visit.conversations.find(one.session_id)) is None:
            continue
        for info in await session.artifacts.list():
            uri = _uri(session, info.name)
            key = info.name if info.name.startswith(_OF_THE_USER) else uri
            found.setdefault(
                key, Resource(uri=uri, name=info.name, title=_title(info), mime_type=info.mime_type)
            )
    return ListResourcesResult(resources=list(found.values()), next_cursor=page.next_cursor)


async def read(visit: Visit, uri: str) -> ReadResourceResult:
    """Return an artifact of the user's.

    Raises:
        NotFoundError: the user has none at that address.
        InvalidRequestError: its name is not allowed.
    """
    found = _URI.fullmatch(uri)
    if found is None or unquote(found[1]) != visit.app:
        raise ArtifactNotFoundError(f"There is no resource {uri!r}.")
    session = await visit.conversations.get(unquote(found[2]))
    name = unquote(found[3])
    check_artifact_name(name)
    return ReadResourceResult(contents=[_contents(uri, await session.artifacts.load(name))])


async def links_of(session: OdaSession, names: Container[str]) -> list[ResourceLink]:
    """Return links to the artifacts of a session that have these names."""
    return [
        ResourceLink(
            type="resource_link",
            uri=_uri(session, info.name),
            name=info.name,
            title=_title(info),
            mime_type=info.mime_type,
        )
        for info in await session.artifacts.list()
        if info.name in names
    ]


def _uri(session: OdaSession, name: str) -> str:
    here = f"oda://{quote(session.app_name)}/sessions/{quote(session.session_id)}"
    return f"{here}/artifacts/{quote(name)}"


def _title(info: ArtifactInfo) -> str:
    return info.name.removeprefix(_OF_THE_USER).rpartition("/")[2]


def _contents(uri: str, found: ArtifactContent) -> TextResourceContents | BlobResourceContents:
    if _IS_TEXT.match(found.mime_type):
        try:
            return TextResourceContents(
                uri=uri, mime_type=found.mime_type, text=found.data.decode()
            )
        except UnicodeDecodeError:
            pass
    blob = base64.b64encode(found.data).decode()
    return BlobResourceContents(uri=uri, mime_type=found.mime_type, blob=blob)
