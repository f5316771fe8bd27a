"""The benchmark's agent with oda's configured model, as `oda serve` loads it."""

from oda import configured_model
from scripts.benchmark.adding import adding_agent

root_agent = adding_agent(configured_model())
