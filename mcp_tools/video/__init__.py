"""Pictures and sound of a video file with ffmpeg, which runs in whatever sandbox a host has."""

from mcp_tools.video.commands import (
    AUDIO_PIECE_S,
    MAX_AUDIO_S,
    MAX_FRAMES,
    Video,
    VideoError,
    audio_arguments,
    frame_arguments,
    frame_times,
    probe_arguments,
    problem_of,
    program,
    video_of,
)

__all__ = [
    "AUDIO_PIECE_S",
    "MAX_AUDIO_S",
    "MAX_FRAMES",
    "Video",
    "VideoError",
    "audio_arguments",
    "frame_arguments",
    "frame_times",
    "probe_arguments",
    "problem_of",
    "program",
    "video_of",
]
