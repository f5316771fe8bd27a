"""The simulation of an installation: what a load takes of each part."""

from dataclasses import replace

import pytest

from scripts.scaling.model import Costs, Load, most_turns_per_s, parts

COSTS = Costs(
    process_cpu_s=0.04,
    database_cpu_s=0.01,
    commits=5,
    commits_per_s=10_000,
    notifications=7,
    heard_cpu_s=0.00001,
    sent_cpu_s=0.00001,
    bytes_stored=10_000,
    deleted_per_s=1_000,
    fetch_s=0.001,
    waiting=10,
    connections=17,
)
LOAD = Load(
    processes=10,
    sessions=86_400,
    turns_per_day=10,
    peak=4,
    retention_days=30,
    database_cores=4,
    max_connections=1_000,
    disk_bytes=1e12,
)


def share(name: str, costs: Costs = COSTS, load: Load = LOAD) -> float:
    (part,) = [part for part in parts(costs, load) if name in part.name]
    return part.share


def test_the_busiest_minute_has_the_turns_of_all_sessions() -> None:
    assert LOAD.turns_per_s == pytest.approx(40)


def test_each_part_takes_what_the_turns_cost() -> None:
    assert share("share of the turns") == pytest.approx(40 * 0.04 / 10)
    assert share("CPU of the turns") == pytest.approx(40 * 0.01 / 4)
    assert share("one at a time") == pytest.approx(40 * 5 / 10_000)
    assert share("connections") == pytest.approx(0.17)
    assert share("what is kept") == pytest.approx(10 * 86_400 * 30 * 10_000 / 1e12)


def test_the_part_that_gives_way_first_is_at_the_head() -> None:
    slow_disk = replace(COSTS, commits_per_s=50)
    first = parts(slow_disk, LOAD)[0]
    assert "commits" in first.name
    assert most_turns_per_s(first, LOAD) == pytest.approx(10)


def test_processes_share_the_turns_but_all_hear_of_each() -> None:
    more = replace(LOAD, processes=100)
    assert share("share of the turns", load=more) == pytest.approx(share("share of the turns") / 10)
    assert share("hearing", load=more) == share("hearing")
    assert share("sending", load=more) == pytest.approx(10 * share("sending"))


def test_connections_do_not_depend_on_the_turns() -> None:
    (part,) = [part for part in parts(COSTS, LOAD) if "connections" in part.name]
    assert most_turns_per_s(part, LOAD) is None
