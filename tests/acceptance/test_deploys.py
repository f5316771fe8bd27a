"""A deploy: servers and workers of two releases on one database."""

import re
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from oda.database.schema import REVISION
from oda.testing import ModelServer
from oda.testing.script import Hang, Text
from tests.acceptance.conftest import ROOT
from tests.acceptance.test_turns_survive import LATER, called, ended, new_session, post
from tests.acceptance.test_turns_survive import user_messages as messages_of
from tests.support.model_settings import gemini

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("model"),
    pytest.mark.postgres,
]

LATER_REVISION = f"{REVISION[:2]}99"
ADDED = f'''
"""A column of a later release."""

import sqlalchemy as sa
from alembic import op

revision = "{LATER_REVISION}"
down_revision = "{REVISION}"


def upgrade() -> None:
    op.add_column("oda_turns", sa.Column("later", sa.Integer(), nullable=True))
'''


@pytest.fixture
def next_release(tmp_path: Path) -> dict[str, str]:
    """The environment of a copy of this release with an additive revision more."""
    copy = tmp_path / "next"
    shutil.copytree(ROOT / "oda", copy / "oda", ignore=shutil.ignore_patterns("__pycache__"))
    database = copy / "oda" / "database"
    (database / "migrations" / "versions" / "later.py").write_text(ADDED)
    schema = database / "schema.py"
    changed = re.sub(r'REVISION = "\d+"', f'REVISION = "{LATER_REVISION}"', schema.read_text())
    schema.write_text(changed)
    return {"PYTHONPATH": str(copy)}


async def test_two_releases_share_turns_on_the_newer_schema(
    serve: Any,
    work: Any,
    own_postgres: str,
    shared_model: ModelServer,
    model: ModelServer,
    next_release: dict[str, str],
    tmp_path: Path,
) -> None:
    settings = {**gemini(shared_model), "DATABASE_URL": own_postgres}
    old = await serve("--accept-only", **settings)
    session = await new_session(old.client)
    new = await serve("--accept-only", data=tmp_path / "new", variables=next_release, **settings)
    new_worker = await work(data=tmp_path / "worker", variables=next_release, **settings)
    model.play([Text(text="By the new one."), Hang(), Text(text="By the old one.")])
    first = (await post(old.client, session, "accepted by the old one", **LATER)).json()
    assert (await ended(new.client, first["turn_id"]))["reply"] == "By the new one."
    second = (await post(new.client, session, "accepted by the new one", **LATER)).json()
    await called(model, 2)
    await work(**settings)  # an old one, which begins on the newer schema
    await new_worker.stop(signal.SIGKILL)
    assert (await ended(old.client, second["turn_id"]))["reply"] == "By the old one."
    assert await messages_of(new.client, session) == [
        "accepted by the old one",
        "accepted by the new one",
    ]
