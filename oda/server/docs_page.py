"""`/docs`: the API document in Swagger UI, with files served by this server."""

import hashlib
import re
from base64 import b64encode
from pathlib import Path

import fastapi_offline
from fastapi import FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles

_ASSETS = "/docs/assets"
_FROM_PAGE = "docs/assets"
"""Path of the assets relative to `/docs`, so that it works below a mount path, too."""
_FILES = Path(fastapi_offline.__file__).parent / "static"
_INLINE_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)


def add_docs(app: FastAPI) -> None:
    """Serve `/docs`; its policy forbids requests to other origins."""
    page = get_swagger_ui_html(
        openapi_url=(app.openapi_url or "").lstrip("/"),
        title=f"{app.title} {app.version}",
        swagger_js_url=f"{_FROM_PAGE}/swagger-ui-bundle.js",
        swagger_css_url=f"{_FROM_PAGE}/swagger-ui.css",
        swagger_favicon_url=f"{_FROM_PAGE}/favicon.png",
    )
    headers = {"Content-Security-Policy": _policy(bytes(page.body).decode())}

    async def docs() -> HTMLResponse:
        return HTMLResponse(page.body, headers=headers)

    app.add_api_route("/docs", docs, include_in_schema=False, response_class=HTMLResponse)
    app.mount(_ASSETS, StaticFiles(directory=_FILES), name="docs-assets")


def _policy(page: str) -> str:
    """Return the Content-Security-Policy for files of this server and the page's inline script."""
    hashes = (hashlib.sha256(script.encode()).digest() for script in _INLINE_SCRIPT.findall(page))
    scripts = " ".join(f"'sha256-{b64encode(digest).decode()}'" for digest in hashes)
    return (
        f"default-src 'none'; script-src 'self' {scripts}; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
