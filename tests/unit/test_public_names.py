"""What `oda` hands out, and what importing it costs."""

import subprocess
import sys

import oda


def test_every_public_name_can_be_loaded() -> None:
    for name in oda.__all__:
        assert getattr(oda, name).__name__.lower().replace("_", "") == name.lower().replace("_", "")


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(oda, "nonsense")


def test_dir_lists_the_public_names() -> None:
    assert dir(oda) == sorted(oda.__all__)


def test_importing_oda_imports_no_heavy_library() -> None:
    heavy = ("litellm", "google.adk", "fastapi", "sqlalchemy", "pydantic")
    code = f"import sys, oda; print([name for name in {heavy} if name in sys.modules])"
    assert _python(code) == "[]"


def test_opening_a_context_without_a_model_imports_no_litellm() -> None:
    code = (
        "import sys, asyncio, oda.context, oda.agent.model.configured, oda.server.app\n"
        "print('litellm' in sys.modules)"
    )
    assert _python(code) == "False"


def _python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()
