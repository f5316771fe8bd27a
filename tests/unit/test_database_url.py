"""Which databases can be used."""

import pytest

from oda.database.engine import database_engine, is_sql
from oda.errors import ConfigurationError


@pytest.mark.parametrize(
    "url",
    [
        "mysql://u:secret@h/n",
        "mysql+aiomysql://u:secret@h/n",
        "postgresql+asyncpg://u:secret@h/n",
        "oracle://u:secret@h/n",
    ],
)
def test_url_of_another_database_is_refused_with_those_that_are_supported(url: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        database_engine(url)
    assert "is not supported" in str(refused.value)
    assert "sqlite:///FILE" in str(refused.value)
    assert "postgresql+psycopg://" in str(refused.value)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "dialect"),
    [
        ("sqlite:///:memory:", "sqlite"),
        ("sqlite+aiosqlite:///:memory:", "sqlite"),
        ("postgres://u@h/n", "postgresql"),
        ("postgresql://u@h/n", "postgresql"),
        ("postgresql+psycopg://u@h/n", "postgresql"),
    ],
)
def test_url_of_a_supported_database_is_taken(url: str, dialect: str) -> None:
    assert is_sql(url)
    assert database_engine(url).dialect.name == dialect
