"""Going on with an article: a version of it is brought into the workspace of a new run."""

from hashlib import sha256

from pydantic import BaseModel, ConfigDict

from mcp_tools.publishing.unpacking import text_of, unpack
from oda.errors import InvalidRequestError
from oda.workspace.workspace import DATA, OUTPUT, Workspace

from .articles.records import Article
from .articles.store import ArticleStore, published
from .free import FREE
from .publishing import ARTICLE, CLAIMS, COVER, SLIDES, wants_slides
from .template import Template
from .templates import templates

_PICTURES = f"{DATA}/pictures"


class Base(BaseModel):
    """The version of an article that a run goes on with."""

    model_config = ConfigDict(frozen=True)

    article_id: str
    version: int
    template: str
    files: dict[str, str] = {}
    """Hashes of the files in output/ as they were brought in, by path."""
    text: str = ""
    """What it says, if nothing proves it."""

    @property
    def names(self) -> set[str]:
        """The names of its files."""
        return {path.removeprefix(f"{OUTPUT}/") for path in self.files}

    @property
    def kind(self) -> Template:
        """The template of the article; the free one if it is no longer there."""
        try:
            return templates().get(self.template)
        except InvalidRequestError:
            return FREE


async def bring(
    workspace: Workspace, owner: str, article: Article, store: ArticleStore = published
) -> Base:
    """Write a version into output/, as its author would have written it, in place of what is there.

    Files that are made of the article itself, its cover and slides, are made anew when it is
    published. Pictures that lie in no file are written into data/.

    Raises:
        NotFoundError: it has been deleted meanwhile.
        QuotaExceededError: there is no room for it.
    """
    base = Base(article_id=article.id, version=article.version, template=article.template)
    made_anew = {ARTICLE, COVER, *([SLIDES] if wants_slides(base.kind) else ())}
    beside: dict[str, bytes] = {}
    for file in article.files:
        if file.name not in made_anew:
            found = await store.content(owner, article.id, file.name, article.version)
            beside[file.name] = found.content
    page = await store.content(owner, article.id, ARTICLE, article.version)
    written = unpack(page.content.decode(), article.language, files=beside, folder=_PICTURES)
    for old in await workspace.list(OUTPUT):
        if old.path.removeprefix(f"{OUTPUT}/") not in (ARTICLE, *beside):
            await workspace.delete(old.path)
    for name, content in beside.items():
        await workspace.write(f"{OUTPUT}/{name}", content)
    for path, content in written.pictures.items():
        await workspace.write(path, content)
    await workspace.write(f"{OUTPUT}/{ARTICLE}", written.html.encode())
    text = "" if CLAIMS in beside else text_of(written.html)
    return base.model_copy(update={"files": await hashes_of(workspace), "text": text})


async def hashes_of(workspace: Workspace) -> dict[str, str]:
    """Return hashes of the files in output/, by path."""
    return {
        file.path: sha256(await workspace.read(file.path)).hexdigest()
        for file in await workspace.list(OUTPUT)
    }
