"""The workspaces of an `OdaContext`."""

import asyncio
import os
from pathlib import Path

from oda import OdaContext
from oda.workspace.sandbox.choice import current_sandboxes
from oda.workspace.workspaces import current_workspaces


async def test_a_context_brings_workspaces_and_removes_old_ones(tmp_path: Path) -> None:
    old = tmp_path / "workspaces" / "session" / "run"
    (old / "output").mkdir(parents=True)
    os.utime(old, (0, 0))

    async with OdaContext.from_settings(data_dir=tmp_path, config_dir=tmp_path) as oda:
        assert current_workspaces() is oda.workspaces
        assert current_sandboxes() is oda.sandboxes
        async with asyncio.timeout(30):
            while old in old.parent.glob("*"):
                await oda.workspaces.find("session", "other")
        async with await oda.workspaces.open("session", "new") as workspace:
            assert workspace.path == old.with_name("new")

    assert not [task for task in asyncio.all_tasks() if task.get_name() == "oda workspaces"]
