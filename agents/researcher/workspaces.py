"""The workspace of a run."""

from google.adk.agents.callback_context import CallbackContext

from oda.workspace.workspace import Workspace
from oda.workspace.workspaces import current_workspaces


async def open_workspace(context: CallbackContext) -> Workspace:
    """Open the workspace of the run that a node or callback belongs to; the caller closes it."""
    return await current_workspaces().open(context.session.id, context.invocation_id)
