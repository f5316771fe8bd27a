"""The tables of the queue: procrastinate's, and triggers of ours that wake its workers."""

from importlib import resources
from typing import Any

from procrastinate.schema import SchemaManager
from sqlalchemy import Engine, text

from oda.database.postgres import unhurried
from oda.errors import ConfigurationError

_INSTALLED = text(
    "SELECT obj_description(oid, 'pg_class') FROM pg_class"
    " WHERE oid = to_regclass('procrastinate_jobs')"
)
"""Version of our tables, null for somebody else's; no row without any.

It reads a table, since PostgreSQL does not look for what others have created without one.
"""
_LOCK = 0x0DA2
"""Key of the advisory lock that serializes the installations of processes starting together."""

_SCHEMA = """
CREATE INDEX oda_jobs_of_session ON procrastinate_jobs (lock) WHERE status IN ('todo', 'doing');

CREATE FUNCTION oda_wake_workers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Waits for a job that is being added to the session, which this end might not see.
    PERFORM pg_advisory_xact_lock(hashtextextended(OLD.lock, 0));
    IF TG_OP = 'UPDATE' OR EXISTS (
        SELECT 1 FROM procrastinate_jobs WHERE lock = OLD.lock AND status = 'todo'
    ) THEN
        PERFORM pg_notify(
            'procrastinate_any_queue_v1',
            json_build_object('type', 'job_inserted', 'job_id', OLD.id)::text
        );
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER oda_job_ended AFTER DELETE ON procrastinate_jobs
FOR EACH ROW EXECUTE FUNCTION oda_wake_workers();

-- After any update, since workers skip a job that a transaction has locked: the one that gives it
-- back, or that deletes the worker which it names.
CREATE TRIGGER oda_job_given_back AFTER UPDATE ON procrastinate_jobs
FOR EACH ROW WHEN (NEW.status = 'todo')
EXECUTE FUNCTION oda_wake_workers();
"""
"""procrastinate wakes its workers for new jobs only: not when the lock of a waiting one is free."""


def install(engine: Engine) -> None:
    """Bring the queue's tables to the version of the installed procrastinate. Blocking.

    Raises:
        ConfigurationError: the database holds procrastinate's tables of somebody else.
    """
    files = sorted(
        (
            one
            for one in resources.files("procrastinate.sql").joinpath("migrations").iterdir()
            if one.name.endswith(".sql")
        ),
        key=lambda one: one.name,
    )
    newest = files[-1].name
    with unhurried(engine) as connection:
        if (connection.scalar(_INSTALLED) or "") >= newest:
            return
        connection.rollback()
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        installed = connection.execute(_INSTALLED).scalars().all()
        raw: Any = connection.connection.dbapi_connection
        if not installed:
            raw.execute(SchemaManager.get_schema())
            raw.execute(_SCHEMA)
        elif installed[0] is None:
            # Our workers would fetch the jobs of the application that uses these tables.
            raise ConfigurationError(
                "The database holds a job queue (procrastinate) that is not ODA's.",
                remedy="give ODA a database of its own, or another schema: "
                "`?options=-csearch_path%3Doda` in its URL",
            )
        else:
            for one in files:
                if one.name > installed[0]:
                    raw.execute(one.read_text("utf-8"))
        if not installed or installed[0] < newest:
            raw.execute(f"COMMENT ON TABLE procrastinate_jobs IS '{newest}'")
        connection.commit()
