"""Messages of triggers are filled in from what is sent."""

from typing import Any

import pytest

from oda.config import WebhookRecord
from oda.webhooks.notify import Notify
from oda.webhooks.standing import standing
from oda.webhooks.template import NotFilledError, fill

VALUES = {"issue": {"title": "It {burns}", "id": 7, "labels": ["a", {"b": None}]}, "ok": True}


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("Sum up {issue.title}, {issue.id}.", "Sum up It {burns}, 7."),
        ("{ok} {issue.labels} {issue.labels.0}", 'true ["a", {"b": null}] a'),
        ("{issue.labels.1.b}", "null"),
        ("{} { issue } {0} {{ok}} {issue.}", "{} { issue } {0} {true} {issue.}"),
    ],
)
def test_a_template_is_filled_in_once(text: str, filled: str) -> None:
    assert fill(text, VALUES) == filled


@pytest.mark.parametrize(
    "text", ["{no}", "{issue.no}", "{issue.id.x}", "{issue.labels.2}", "{issue.labels.x}"]
)
def test_what_is_missing_is_told(text: str) -> None:
    others: list[Any] = [VALUES, [], None, "text"]
    for values in others:
        with pytest.raises(NotFilledError, match=text[1:-1].replace(".", r"\.")):
            fill(text, values)


def test_standing_webhooks_are_chosen_by_app_and_key() -> None:
    url = "https://example.org/"
    webhooks = {
        "all": WebhookRecord(url=f"{url}all"),
        "app": WebhookRecord(url=f"{url}app", apps=frozenset({"cv"}), events=("done",)),
        "key": WebhookRecord(url=f"{url}key", keys=frozenset({"k1"})),
        "both": WebhookRecord(url=f"{url}both", apps=frozenset({"cv"}), keys=frozenset({"k1"})),
    }

    def told(app: str, key: str | None) -> list[str]:
        return [one.url.removeprefix(url) for one in standing(webhooks, app, key)]

    assert told("cv", "k1") == ["all", "app", "key", "both"]
    assert told("cv", None) == ["all", "app"]
    assert told("other", "k1") == ["all", "key"]
    assert told("other", "k2") == ["all"]
    assert Notify(url=f"{url}app", events=("done",)) in standing(webhooks, "cv", None)
