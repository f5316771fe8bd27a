"""The orchestrator `orders`: it takes an order, and asks before it sends it."""

from oda.orchestration import Orchestrator
from tests.support.orders import Orders

root_agent = Orchestrator("orders", scenes=[Orders()])
