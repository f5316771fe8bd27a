"""When a webhook or a notice that could not be sent is sent again."""

from datetime import timedelta

from oda.webhooks.backoff import delay_after


def test_it_is_tried_again_for_about_a_day() -> None:
    delays: list[timedelta] = []
    while (delay := delay_after(len(delays) + 1)) is not None:
        delays.append(delay)
    assert delays == sorted(delays)
    assert delays[0] <= timedelta(seconds=5)
    assert timedelta(hours=20) < sum(delays, timedelta()) < timedelta(hours=26)
