"""Implements `mcp_tools.apart.ReadApart` with the sandbox of the process."""

from collections.abc import Mapping, Sequence

from oda.workspace.sandbox.choice import current_sandboxes
from oda.workspace.sandbox.sandbox import Program, SandboxLimits
from oda.workspace.workspaces import temporary_workspace

_DOCUMENT = "input/document"
_QUOTA_BYTES = 2**20
"""Readers need not write anything."""


async def read_apart(
    document: bytes,
    main: str,
    *,
    modules: Mapping[str, str],
    arguments: Sequence[str] = (),
    wall_s: float,
    cpu_s: int,
    memory_bytes: int,
    output_bytes: int,
) -> str:
    """Run a program on a document in a sandbox without other files; return its output.

    The path of the document is the program's first argument. The output of a program that fails or
    exceeds a limit may be truncated. Pass this function where `mcp_tools` takes a `ReadApart`.

    Raises:
        TimeoutError: the program took longer than `wall_s`.
        SandboxUnavailableError: there is no sandbox.
    """
    limits = SandboxLimits(
        wall_s=wall_s,
        cpu_s=cpu_s,
        memory_bytes=memory_bytes,
        quota_bytes=_QUOTA_BYTES,
        file_bytes=_QUOTA_BYTES,
        files=0,
        text_bytes=output_bytes,
    )
    program = Program(main, modules=modules, arguments=(_DOCUMENT, *arguments))
    async with temporary_workspace() as workspace:
        await workspace.write(_DOCUMENT, document)
        result = await current_sandboxes().run(program, workspace, limits=limits)
    if result.ending == "timed_out":
        raise TimeoutError
    return result.stdout
