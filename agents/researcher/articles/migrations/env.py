"""Migration environment of alembic."""

from oda.database.migrate import run_revisions

run_revisions()
