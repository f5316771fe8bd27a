"""Test doubles that speak the real interfaces: a model server, a scripted model, a clock.

The steps of a script are in `oda.testing.script`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .clock import FakeClock
    from .model_server import ModelServer
    from .script import Script
    from .scripted_model import ScriptedModel

__all__ = ["FakeClock", "ModelServer", "Script", "ScriptedModel"]

_HOMES = {
    "FakeClock": "clock",
    "ModelServer": "model_server",
    "Script": "script",
    "ScriptedModel": "scripted_model",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
