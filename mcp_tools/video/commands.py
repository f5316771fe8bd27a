"""Arguments of ffmpeg, and parsing of its output."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

MAX_FRAMES = 24
MAX_WIDTH = 1280
"""Pixels of a frame."""
AUDIO_PIECE_S = 600
"""Seconds of sound in one file: 19 MB as 16 kHz WAV, which transcription services take."""
MAX_AUDIO_S = 3600
_QUIET = ("-hide_banner", "-nostdin", "-loglevel", "error")
_PROBE_SIZE = ("-probesize", "20M", "-analyzeduration", "20M")

_PROBLEMS = {
    "no_ffmpeg": "ffmpeg is not installed where code runs; install it (`apt install ffmpeg`)",
    "no_exec": "the sandbox lets no other program run; use one that does, such as bwrap",
    "no_video": "it is no video file (.mp4, .mov, .mkv, .webm, .avi, .mpg, .ts, .flv, .wmv, .ogv); "
    "playlists are not followed",
    "broken": "it is damaged or uses a format that ffmpeg cannot decode",
    "too_long": "looking at it takes longer than code may run; give a shorter piece of it",
}


class VideoError(Exception):
    """Raised when a video cannot be looked at; `code` is stable, the message says what to do."""

    def __init__(self, code: str) -> None:
        super().__init__(_PROBLEMS[code])
        self.code = code


@dataclass(frozen=True)
class Video:
    """The properties of a video file."""

    duration_s: float
    """0 where the file does not say."""
    width: int
    height: int
    has_pictures: bool
    has_sound: bool


@cache
def program() -> str:
    """The program that becomes ffprobe or ffmpeg, given the arguments that the functions make."""
    return (resources.files("mcp_tools.video.programs") / "become.py").read_text("utf-8")


def probe_arguments(path: str) -> list[str]:
    """To tell what a file holds; the answer is for `video_of`."""
    shown = (
        "format=duration:stream=codec_type,width,height,duration:stream_disposition=attached_pic"
    )
    options = ["-v", "error", "-of", "json", "-show_entries", shown]
    return ["ffprobe", path, "", *options, *_PROBE_SIZE, "@"]


def video_of(stdout: str) -> Video:
    """Parse the output of ffprobe.

    Raises:
        VideoError: `broken`, or the error reported by the program.
    """
    try:
        told = json.loads(stdout)
        streams = told.get("streams", [])
        pictures = [
            stream
            for stream in streams
            if stream.get("codec_type") == "video"
            and not stream.get("disposition", {}).get("attached_pic")
        ]
        lengths = [
            told.get("format", {}).get("duration"),
            *(one.get("duration") for one in streams),
        ]
        size = pictures[0] if pictures else {}
        video = Video(
            duration_s=next(
                (float(length) for length in lengths if length not in (None, "N/A")), 0
            ),
            width=int(size.get("width", 0)),
            height=int(size.get("height", 0)),
            has_pictures=bool(pictures),
            has_sound=any(stream.get("codec_type") == "audio" for stream in streams),
        )
    except (ValueError, TypeError, AttributeError) as error:
        raise VideoError("broken") from error
    if not (video.has_pictures or video.has_sound):
        raise VideoError("broken")
    return video


def problem_of(stdout: str) -> str | None:
    """The code with which the program has refused a file."""
    try:
        told = json.loads(stdout.strip() or "null")
    except ValueError:
        return None
    code = told.get("error") if isinstance(told, dict) else None
    return code if isinstance(code, str) and code in _PROBLEMS else None


def frame_times(duration_s: float, count: int) -> list[float]:
    """Moments in seconds, evenly spread, none at the very beginning or end."""
    wanted = max(1, min(count, MAX_FRAMES))
    if duration_s <= 0:
        return [0.0]
    return [round(duration_s * (index + 0.5) / wanted, 2) for index in range(wanted)]


def frame_arguments(path: str, folder: str, times: Sequence[float]) -> list[str]:
    """To write `frame-001.jpg` and so on; each is found by seeking, so long files cost no more."""
    inputs: list[str] = []
    outputs: list[str] = []
    for number, time in enumerate(times):
        inputs += ["-threads", "1", "-ss", f"{time:.2f}", "@"]
        scale = f"scale='min({MAX_WIDTH},iw)':-2"
        outputs += ["-map", f"{number}:v:0", "-frames:v", "1", "-vf", scale, "-q:v", "4"]
        outputs += ["-threads", "1", f"{folder}/frame-{number + 1:03d}.jpg"]
    return ["ffmpeg", path, folder, *_QUIET, *inputs, *outputs]


def audio_arguments(path: str, folder: str) -> list[str]:
    """To write `audio-000.wav` and so on: 16 kHz, one channel, at most `MAX_AUDIO_S` together."""
    only_sound = ["-map", "0:a:0", "-vn", "-sn", "-dn"]
    sound = [*only_sound, "-ac", "1", "-ar", "16000", "-t", str(MAX_AUDIO_S)]
    pieces = ["-f", "segment", "-segment_time", str(AUDIO_PIECE_S), "-c:a", "pcm_s16le"]
    return [
        *("ffmpeg", path, folder, *_QUIET, "-threads", "2", "@"),
        *(*sound, *pieces, f"{folder}/audio-%03d.wav"),
    ]
