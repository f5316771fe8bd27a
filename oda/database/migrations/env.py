"""What alembic runs: the revisions, on the connection that `oda.database.migrate` hands over."""

from alembic import context

from oda.database.migrate import VERSION_TABLE
from oda.database.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    include_name=lambda name, kind, _: kind != "table" or name in metadata.tables,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
