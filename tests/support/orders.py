"""A scene that has its turn wait for the user, and what its steps have done."""

from pydantic import BaseModel

from oda.orchestration import Question, Reply, SceneTurn, StepContext, Workflow, step

ran: list[str] = []
fails: list[Exception] = []


class Order(BaseModel):
    what: str


@step("take-order")
async def take_order(request: Order, context: StepContext) -> Order:
    """Write an order down."""
    ran.append(f"take {request.what}")
    return request


@step("send-order")
async def send_order(request: Order, context: StepContext) -> Order:
    """Send an order."""
    ran.append(f"send {request.what}")
    if fails:
        raise fails.pop()
    return request


class Orders(Workflow):
    name = "orders"
    purpose = "orders"
    phases = ("start", "asked")
    steps = (take_order, send_order)

    async def run(self, turn: SceneTurn) -> Reply:
        taken = await turn.step(take_order, Order(what=turn.text))
        if turn.phase == "start" or turn.text == "no":
            question = Question(message="Send it?", payload={"order": taken.what})
            return Reply(text="Taken.", phase="asked", asks=question)
        sent = await turn.step(send_order, Order(what=turn.recent[-1].replied))
        return Reply(text=f"Sent after {turn.text}: {sent.what}", phase="start")
