"""The turn that is run at start, before any user's."""

import logging

import pytest

from oda.agent.model.litellm_import import litellm_ready
from oda.agent.rehearsal import rehearse


@pytest.mark.parametrize("with_litellm", [False, True])
async def test_it_succeeds_and_logs_nothing(
    with_litellm: bool, caplog: pytest.LogCaptureFixture
) -> None:
    if with_litellm:
        await litellm_ready()
    with caplog.at_level(logging.WARNING):
        await rehearse(with_litellm=with_litellm)
    assert [record.getMessage() for record in caplog.records] == []
