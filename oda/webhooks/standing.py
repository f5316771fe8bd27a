"""Which addresses are told of a turn without being named with it."""

from collections.abc import Mapping

from oda.config import WebhookRecord
from oda.webhooks.notify import Notify


def standing(
    webhooks: Mapping[str, WebhookRecord], app: str, key_id: str | None
) -> tuple[Notify, ...]:
    """Return who is told of the turns of an app that come with a key; pure.

    Args:
        key_id: The API key of the request; None if it came without one.
    """
    return tuple(
        Notify(url=webhook.url, events=webhook.events)
        for webhook in webhooks.values()
        if (webhook.apps is None or app in webhook.apps)
        and (webhook.keys is None or key_id in webhook.keys)
    )
