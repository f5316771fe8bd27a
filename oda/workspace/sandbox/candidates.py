"""The sandboxes that may be used, according to the settings."""

from collections.abc import Sequence
from typing import assert_never

from oda.errors import SandboxUnavailableError
from oda.settings import Settings, is_loopback
from oda.workspace.sandbox.bubblewrap import BubblewrapSandbox
from oda.workspace.sandbox.landlock import LandlockSandbox
from oda.workspace.sandbox.python_environment import python_environment
from oda.workspace.sandbox.sandbox import Sandbox
from oda.workspace.sandbox.unsafe_subprocess import UnsafeSubprocess


def candidates(settings: Settings) -> Sequence[Sandbox]:
    """The sandboxes of this machine that may be used, the strongest first.

    Raises:
        SandboxUnavailableError: none may.
    """
    name = settings.sandbox
    if name == "none":
        raise SandboxUnavailableError(
            "ODA_SANDBOX=none switches it off", remedy="set ODA_SANDBOX=auto"
        )
    if name == "unsafe-subprocess" and not is_loopback(settings.host):
        raise SandboxUnavailableError(
            f"unsafe-subprocess is refused while ODA_HOST={settings.host} lets other machines in",
            remedy="set ODA_SANDBOX=auto, or ODA_HOST=127.0.0.1",
        )
    python = python_environment(settings.workspace.python)
    match name:
        case "auto":
            return BubblewrapSandbox(python), LandlockSandbox(python)
        case "bwrap":
            return (BubblewrapSandbox(python),)
        case "landlock":
            return (LandlockSandbox(python),)
        case "unsafe-subprocess":
            return (UnsafeSubprocess(python),)
        case _:
            assert_never(name)
