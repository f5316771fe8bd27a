"""A webhook reaches its receiver, and no address that it may not."""

import base64
from collections.abc import Sequence

import pytest

from oda.webhooks.client import NotSentError, WebhookClient, checked_url
from tests.support.hook_server import hook_server

SECRET = f"whsec_{base64.b64encode(b'a key of twenty-four byte').decode()}"
NOW = 1_800_000_000
BODY = b'{"type":"turn.done"}'


async def to_this_machine(host: str, port: int) -> Sequence[str]:
    return ["127.0.0.1"]


async def nowhere(host: str, port: int) -> Sequence[str]:
    raise OSError("no such name")


async def test_a_name_that_leads_to_a_private_address_is_refused_when_it_is_sent() -> None:
    async with hook_server() as receiver:
        url = checked_url(receiver.url.replace("127.0.0.1", "rebind.example"), allow_private=False)
        async with WebhookClient(allow_private=False, resolve=to_this_machine) as client:
            with pytest.raises(NotSentError, match="not public") as refused:
                await client.send(url, SECRET, "msg_1", NOW, BODY)
        assert refused.value.is_final
        assert receiver.all == []
        async with WebhookClient(allow_private=True, resolve=to_this_machine) as client:
            await client.send(url, SECRET, "msg_1", NOW, BODY)
        (hook,) = receiver.all
    assert hook.headers["host"].startswith("rebind.example:")
    assert hook.body == BODY
    assert hook.id == "msg_1"


async def test_what_may_pass_is_told_from_what_may_not() -> None:
    async with hook_server(503, 410) as receiver, WebhookClient(allow_private=True) as client:
        receiver.headers = ["Retry-After: 120"]
        with pytest.raises(NotSentError, match="503") as busy:
            await client.send(receiver.url, SECRET, "msg_1", NOW, BODY)
        with pytest.raises(NotSentError, match="410") as gone:
            await client.send(receiver.url, SECRET, "msg_1", NOW, BODY)
        url = receiver.url
    assert (busy.value.is_final, busy.value.retry_after_s) == (False, 120.0)
    assert gone.value.is_final
    async with WebhookClient(allow_private=True) as client:
        with pytest.raises(NotSentError, match="cannot be reached") as away:
            await client.send(url, SECRET, "msg_1", NOW, BODY)
    async with WebhookClient(allow_private=False, resolve=nowhere) as client:
        with pytest.raises(NotSentError, match="no host") as unknown:
            await client.send("http://nowhere.example/", SECRET, "msg_1", NOW, BODY)
    assert not (away.value.is_final or unknown.value.is_final)
