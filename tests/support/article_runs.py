"""A client of `/api/articles`: orders, and waits for what comes of them."""

import asyncio
from typing import Any

import httpx

ARTICLES = "/api/articles"
_PATIENCE_S = 60.0

Json = dict[str, Any]


class ArticleClient:
    """Has articles made, as one user."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http

    async def order(self, template: str, prompt: str = "otters", **more: Any) -> Json:
        """Order an article as JSON; the run as it was accepted."""
        body = {"template": template, "prompt": prompt, **more}
        return _accepted(await self.http.post(ARTICLES, json=body))

    async def send(self, template: str, *files: tuple[str, bytes], prompt: str = "otters") -> Json:
        """The same with files."""
        sent = [("files", file) for file in files]
        fields = {"template": template, "prompt": prompt}
        return _accepted(await self.http.post(ARTICLES, data=fields, files=sent))

    async def ended(self, run: Json) -> Json:
        """The run when it has ended, or waits."""
        async with asyncio.timeout(_PATIENCE_S):
            await self.http.get(f"{ARTICLES}/runs/{run['run_id']}/events", timeout=_PATIENCE_S)
        return await self.look(run)

    async def look(self, run: Json) -> Json:
        """The run as it is."""
        return await self.get(f"{ARTICLES}/runs/{run['run_id']}")

    async def cancel(self, run: Json) -> Json:
        """End the run."""
        cancelled = await self.http.post(f"{ARTICLES}/runs/{run['run_id']}/cancel")
        assert cancelled.status_code == 200, cancelled.text
        status: Json = cancelled.json()
        return status

    async def get(self, url: str) -> Json:
        """What is there."""
        found = await self.http.get(url)
        assert found.status_code == 200, found.text
        answer: Json = found.json()
        return answer


def _accepted(answer: httpx.Response) -> Json:
    assert answer.status_code == 202, answer.text
    run: Json = answer.json()
    return run
