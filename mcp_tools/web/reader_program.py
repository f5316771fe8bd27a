"""The program that reads an untrusted document as text in isolation, see `mcp_tools.apart`.

It imports no other module of this package. Its second argument is the task as a JSON object; it
prints a JSON object with `title`, `published`, `text` and `cut`. It exits with a nonzero code on
any failure.
"""

import codecs
import io
import json
import re
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

MAX_PDF_PAGES = 100
MAX_TITLE = 300
META_CHARSET = re.compile(rb"""<meta[^>]{0,200}charset\s*=\s*["']?([\w-]{1,40})""", re.IGNORECASE)
WIDER = {"gb2312": "gb18030", "gbk": "gb18030", "iso-8859-1": "cp1252", "ascii": "cp1252"}


class OutOfPatience(BaseException):
    """Raised when reading with headings and lists takes too long; no library catches it."""


def set_patience(seconds: float) -> None:
    """Raise OutOfPatience after a while; never, for 0."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, give_up)
        signal.setitimer(signal.ITIMER_REAL, seconds)


def give_up(_signal: int, _frame: FrameType | None) -> None:
    raise OutOfPatience


def decoded(body: bytes, charset: str | None) -> str:
    """The text, by its mark, the declared charset, or what browsers would take."""
    for mark, marked in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if body.startswith(mark):
            return body.decode(marked, errors="replace")
    if b"\0" in body[:4096]:
        raise ValueError("these bytes are no text")
    declared = META_CHARSET.search(body[:4096])
    named = charset or (declared[1].decode("ascii") if declared else None)
    for encoding in (named, "utf-8", "gb18030"):
        try:
            if encoding:
                return body.decode(WIDER.get(encoding.lower(), encoding))
        except (LookupError, UnicodeError):
            continue
    return body.decode("utf-8", errors="replace")


def read_text(body: bytes, task: dict[str, Any]) -> dict[str, str | None]:
    return {"title": None, "published": None, "text": decoded(body, task["charset"])}


def read_html(body: bytes, task: dict[str, Any]) -> dict[str, str | None]:
    """The main text as Markdown; all text, where that finds nothing or takes too long."""
    import trafilatura

    tree = trafilatura.load_html(decoded(body, task["charset"]))
    if tree is None:
        return {"title": None, "published": None, "text": ""}
    tree.make_links_absolute(task["url"], handle_failures="ignore")
    plain = trafilatura.html2txt(tree)
    title = published = text = None
    set_patience(task["patience_s"])
    try:
        metadata = trafilatura.extract_metadata(tree, default_url=task["url"])
        title, published = metadata.title, metadata.date
        text = trafilatura.extract(
            tree,
            url=task["url"],
            output_format="markdown",
            include_links=True,
            include_comments=False,
        )
        set_patience(0)
    except OutOfPatience:
        pass
    return {"title": title, "published": published, "text": text or plain}


def read_pdf(body: bytes, task: dict[str, Any]) -> dict[str, str | None]:
    import pypdf

    document = pypdf.PdfReader(io.BytesIO(body))
    metadata = document.metadata
    texts: list[str] = []
    size = 0
    for page in document.pages[:MAX_PDF_PAGES]:
        texts.append(page.extract_text())
        size += len(texts[-1])
        if size > task["chars"]:
            break
    written = metadata.creation_date if metadata else None
    return {
        "title": metadata.title if metadata else None,
        "published": written.date().isoformat() if written else None,
        "text": "\n\n".join(texts),
    }


READERS = {"html": read_html, "text": read_text, "pdf": read_pdf}


def read(body: bytes, task: dict[str, Any]) -> str:
    """Return the result as JSON.

    Raises:
        Exception: the document cannot be read.
    """
    result = READERS[task["kind"]](body, task)
    text = (result["text"] or "").strip()
    return json.dumps(
        {
            "title": (result["title"] or "").strip()[:MAX_TITLE] or None,
            "published": result["published"],
            "text": text[: task["chars"]],
            "cut": len(text) > task["chars"],
        }
    )


def main(path: str, task: str) -> None:
    body = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    sys.stdout.write(read(body, json.loads(task)))


if __name__ == "__main__":
    main(*sys.argv[1:])
