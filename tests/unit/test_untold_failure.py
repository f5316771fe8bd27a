"""Which failure of a killed process its client has not been told of."""

import pytest
from google.adk.events import Event

from oda.agent.notices import RETRY_ATTEMPT
from oda.turn.run import untold_failure
from tests.support.turns import spoken

TEXT = spoken("Let me see.")
FAILED = Event(author="agent", error_code="503", error_message="Try again.")
TOLD = Event(author="system", error_code=RETRY_ATTEMPT)
CUT_OFF = spoken("As long as it could b", error_code="MAX_TOKENS")


@pytest.mark.parametrize(
    ("stored", "logged", "untold"),
    [
        pytest.param([], [], None, id="nothing_has_happened"),
        pytest.param([TEXT], [], None, id="nothing_has_failed"),
        pytest.param([TEXT, FAILED], [TEXT], FAILED, id="died_before_the_notice"),
        pytest.param([FAILED], [], FAILED, id="died_before_anything_was_told"),
        pytest.param([TEXT, FAILED], [TEXT, TOLD], None, id="died_in_the_wait"),
        pytest.param([FAILED, TEXT], [TOLD], None, id="died_after_the_retry"),
        pytest.param([FAILED, TEXT, FAILED], [TOLD, TEXT], FAILED, id="failed_again"),
        pytest.param([CUT_OFF], [], None, id="a_text_that_was_cut_off_is_an_answer"),
    ],
)
def test_only_the_last_attempts_failure_can_be_untold(
    stored: list[Event], logged: list[Event], untold: Event | None
) -> None:
    assert untold_failure(stored, logged) is untold
