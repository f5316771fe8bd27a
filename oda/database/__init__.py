"""SQL database: engine, schema, migrations, and the journal that batches writes."""
