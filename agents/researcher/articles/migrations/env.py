"""What alembic runs."""

from oda.database.migrate import run_revisions

run_revisions()
