"""The SQL database: engine, schema, migrations, and the journal that commits in groups."""
