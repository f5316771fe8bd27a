"""The tool `read_video`: pictures of a video of the workspace, and what is said in it."""

import hashlib
from collections.abc import Sequence
from typing import Any

from google.adk.tools.tool_context import ToolContext

from mcp_tools.video import (
    MAX_AUDIO_S,
    VideoError,
    audio_arguments,
    frame_arguments,
    frame_times,
    probe_arguments,
    problem_of,
    program,
    video_of,
)
from oda import idempotent, untrusted
from oda.agent.failure import classify
from oda.agent.model.registry import current_models
from oda.clock import SystemClock
from oda.errors import SandboxUnavailableError, WorkspaceError
from oda.workspace.sandbox.choice import current_sandboxes
from oda.workspace.sandbox.sandbox import Program, RunResult
from oda.workspace.tools import refusal, workspace_of
from oda.workspace.workspace import Workspace

_FRAMES = 12


@idempotent
@untrusted
async def read_video(path: str, tool_context: ToolContext, frames: int = _FRAMES) -> dict[str, Any]:
    """Look at a video: pictures at even intervals, and what is said in it.

    Args:
        path: Of the video, such as input/talk.mp4.
        frames: How many pictures, at most 24.

    Returns:
        duration_s, frames (paths of JPEG files), frame_times_s, transcript (or null), note.
    """
    count = frames if isinstance(frames, int) and frames > 0 else _FRAMES
    try:
        async with workspace_of(tool_context) as workspace:
            return await look_at_video(workspace, path, count)
    except (WorkspaceError, SandboxUnavailableError) as error:
        return refusal(error)
    except VideoError as error:
        return {"error": {"code": error.code, "message": f"{path!r} cannot be read: {error}"}}


async def look_at_video(workspace: Workspace, path: str, count: int) -> dict[str, Any]:
    """Return the result of `read_video`.

    Raises:
        VideoError: the file is not a readable video.
        WorkspaceError: the file does not exist.
        SandboxUnavailableError: no sandbox is available to read it in.
    """
    if await workspace.find(path) is None:
        raise WorkspaceError(f"There is no {path!r}.", remedy="list_files tells what there is")
    name = hashlib.sha256(path.encode()).hexdigest()[:8]
    video = video_of((await _run(workspace, probe_arguments(path))).stdout)
    times = frame_times(video.duration_s, count) if video.has_pictures else []
    folder = f"data/frames/{name}"
    if times:
        await _run(workspace, frame_arguments(path, folder, times))
    made = [f"{folder}/frame-{number + 1:03d}.jpg" for number in range(len(times))]
    there = [await workspace.find(frame) is not None for frame in made]
    transcript, note = None, "no sound"
    if video.has_sound:
        transcript, note = await _transcript(workspace, path, f"data/audio/{name}")
        if video.duration_s > MAX_AUDIO_S:
            note = f"{note}; only the first {MAX_AUDIO_S // 60} minutes of the sound".strip("; ")
    return {
        "duration_s": round(video.duration_s, 1),
        "frames": [frame for frame, is_there in zip(made, there, strict=True) if is_there],
        "frame_times_s": [time for time, is_there in zip(times, there, strict=True) if is_there],
        "transcript": transcript,
        "note": note,
    }


async def _transcript(workspace: Workspace, path: str, folder: str) -> tuple[str | None, str]:
    """Return the transcript, or the reason why there is none; the audio is deleted."""
    models = current_models()
    if models.transcriber is None:
        return None, "not_configured: no model for transcription is set (ODA_TRANSCRIBE_MODEL)"
    await _run(workspace, audio_arguments(path, folder))
    texts: list[str] = []
    pieces = await workspace.list(folder)
    try:
        for piece in pieces:
            texts.append(await models.transcribe(await workspace.read(piece.path), "audio/wav"))
    except Exception as error:  # clients of models fail in many ways; the frames are of use alone
        reason = classify(error, now=SystemClock().now()).message
        return "\n".join(texts) or None, f"transcription has failed: {reason}"
    finally:
        for piece in pieces:
            await workspace.delete(piece.path)
    return "\n".join(texts), ""


async def _run(workspace: Workspace, arguments: Sequence[str]) -> RunResult:
    """Run ffmpeg or ffprobe in the sandbox, as everything that opens strangers' files."""
    result = await current_sandboxes().run(Program(program(), arguments=arguments), workspace)
    if (code := problem_of(result.stdout)) is not None:
        raise VideoError(code)
    if result.ending in ("timed_out", "cpu_limit"):
        raise VideoError("too_long")
    if result.ending != "exited" or result.exit_code != 0:
        raise VideoError("broken")
    return result
