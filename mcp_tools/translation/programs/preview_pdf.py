"""A PDF as a piece of HTML: pictures of its first pages."""

import base64
import io
from pathlib import Path

import pypdfium2  # type: ignore[import-untyped]

from .failure import UnreadableError

_MAX_PAGES = 20
_WIDTH = 900
"""Pixels."""
_MAX_SCALE = 3.0


def preview(path: Path) -> str:
    """The pages as JPEG, each in the HTML itself."""
    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        raise UnreadableError("broken") from error
    pictures = [_picture(document[number]) for number in range(min(len(document), _MAX_PAGES))]
    left_out = len(document) - len(pictures)
    note = f"<p>{left_out} more pages are not shown.</p>" if left_out else ""
    return (
        "\n".join(
            f'<p><img alt="page {number}" src="data:image/jpeg;base64,{picture}"></p>'
            for number, picture in enumerate(pictures, start=1)
        )
        + note
    )


def _picture(page: pypdfium2.PdfPage) -> str:
    scale = min(_MAX_SCALE, _WIDTH / max(page.get_width(), page.get_height() / 2, 1))
    data = io.BytesIO()
    page.render(scale=scale).to_pil().convert("RGB").save(data, "JPEG", quality=70)
    return base64.b64encode(data.getvalue()).decode()
