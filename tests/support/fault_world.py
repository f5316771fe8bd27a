"""The place of the fault tests: an agent that pays and books, whose effects are known."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from oda.cli.chaos.place import Place
from oda.cli.chaos.processes import ForkServer
from oda.cli.chaos.promises import Fault, World
from tests.support.effects import Effect, faults_of_effects

AGENTS = Path(__file__).parent / "fault_agents"
APP = "teller"


class TellerPlace(Place):
    """A place whose agent leaves effects in a file.

    Args:
        environment: More variables of the processes.
    """

    def __init__(
        self,
        fork_server: ForkServer,
        directory: Path,
        database_url: str | None,
        **environment: str,
    ) -> None:
        self.effects = directory / "effects"
        super().__init__(
            fork_server,
            directory,
            agents=AGENTS,
            app=APP,
            database_url=database_url,
            environment={"ODA_TEST_EFFECTS": str(self.effects), **environment},
        )

    def faults(self, world: World) -> Sequence[Fault]:
        return [*super().faults(world), *faults_of_effects(world, self.left_effects())]

    async def keeps_all_promises(self, *, since: float = 0.0) -> None:
        """Check all that is known once all turns are at rest.

        Raises:
            AssertionError: naming each promise that is broken.
        """
        broken = [str(fault) for fault in await self.broken_promises(since=since)]
        if broken:
            raise AssertionError(
                "\n".join([f"{len(broken)} broken promises:", *broken, *self._logged(broken)])
            )

    def _logged(self, broken: Sequence[str]) -> Iterator[str]:
        """Yield the servers' log lines about the turns whose promises are broken."""
        named = set(re.findall(r"turn_[0-9a-f]{32}", "\n".join(broken)))
        for server in self.processes:
            for line in server.output().splitlines():
                if any(turn_id in line for turn_id in named):
                    yield f"{server.url}: {line}"

    def left_effects(self) -> list[Effect]:
        """Return the effects of the tools, in order."""
        lines = self.effects.read_text().splitlines() if self.effects.exists() else []
        return [Effect(**json.loads(line)) for line in lines]
