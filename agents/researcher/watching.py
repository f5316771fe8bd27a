"""The node `watch`: what a video shows and says, for the one answer that is written of it."""

from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.context import Context
from google.adk.models.llm_request import LlmRequest
from google.genai.types import Blob, Part

from mcp_tools.video import VideoError
from oda.errors import WorkspaceError
from oda.tools.untrusted import marked

from .brief import Brief
from .templates import templates
from .video import look_at_video
from .workspaces import open_workspace

_FRAMES = 12
_SEEN_KEY = "researcher_frames"
"""In the state of a session: paths of the pictures of the run that it is in."""


async def watch(ctx: Context) -> str:
    """Process the video of a run; return the text for the model that accompanies the pictures.

    Raises:
        WorkspaceError: the file cannot be read as a video.
        SandboxUnavailableError: no sandbox is available to read it in.
    """
    brief = Brief.of(ctx.state)
    template = templates().get(brief.template or "")
    count = brief.options.get("frames", _FRAMES)
    async with await open_workspace(ctx) as workspace:
        try:
            seen = await look_at_video(workspace, brief.files[0], int(count))
        except VideoError as error:
            raise WorkspaceError(f"{brief.files[0]!r} cannot be read: {error}") from error
    ctx.state[_SEEN_KEY] = seen["frames"]
    told = brief.model_copy(update={"files": tuple(_described(brief.files[0], seen))})
    return f"{told.text_for(template)}\n\n# Transcript\n\n{_transcript(seen)}"


async def show_frames(callback_context: CallbackContext, llm_request: LlmRequest) -> None:
    """Append the pictures of the run to the prompt; a `before_model_callback`."""
    brief = Brief.of(callback_context.state)
    if brief.template is None or templates().get(brief.template).flow != "video":
        return
    paths: list[str] = callback_context.state.get(_SEEN_KEY, [])
    async with await open_workspace(callback_context) as workspace:
        pictures = [Blob(data=await workspace.read(path), mime_type="image/jpeg") for path in paths]
    *before, last = llm_request.contents
    parts = [*(last.parts or ()), *(Part(inline_data=picture) for picture in pictures)]
    llm_request.contents = [*before, last.model_copy(update={"parts": parts})]


def _described(video: str, seen: dict[str, Any]) -> list[str]:
    pictures = zip(seen["frames"], seen["frame_times_s"], strict=True)
    return [
        f"{video} ({seen['duration_s']:.0f} s)",
        *(f"{path} (at {at:.0f} s)" for path, at in pictures),
    ]


def _transcript(seen: dict[str, Any]) -> str:
    if seen["transcript"]:
        return str(marked(seen["transcript"]))
    return str(seen["note"] or "(nothing is said)")
