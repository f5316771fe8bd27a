"""When a sweep for the jobs of dead workers judges nobody."""

from oda.turn.distributed import Punctuality


def lateness(*moments: float) -> list[bool]:
    """Return whether sweeps at these moments are late; they are due each second, from 1 on."""
    now = 0.0
    punctuality = Punctuality(1.0, lambda: now)
    told = []
    for moment in moments:
        now = moment
        told.append(punctuality.is_late())
    return told


def test_sweeps_in_time_judge() -> None:
    assert lateness(1.0, 2.1, 3.5, 4.6) == [False] * 4


def test_the_sweep_after_a_standstill_judges_nobody_and_the_next_does() -> None:
    assert lateness(1.0, 9.0, 10.0) == [False, True, False]


def test_the_first_sweep_may_come_after_a_standstill() -> None:
    assert lateness(5.0, 6.0) == [True, False]


def test_sweeps_that_are_always_late_judge_in_the_end() -> None:
    assert lateness(2.0, 4.0, 6.0, 8.0, 10.0) == [True, True, True, False, False]


def test_a_sweep_in_time_ends_the_count_of_late_ones() -> None:
    assert lateness(2.0, 4.0, 5.0, 7.0, 9.0, 11.0) == [True, True, False, True, True, True]


def test_it_counts_from_when_the_sweeps_begin() -> None:
    now = 0.0
    punctuality = Punctuality(1.0, lambda: now)
    now = 100.0
    punctuality.begin()
    now = 101.0
    assert not punctuality.is_late()
