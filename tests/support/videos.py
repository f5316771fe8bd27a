"""A small video, and what is needed to look at one."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

_MAKE = (
    "ffmpeg -v error -f lavfi -i testsrc=duration=3:size=320x240:rate=10 "
    "-f lavfi -i sine=duration=3 -shortest"
)

needs_ffmpeg = pytest.mark.skipif(
    not (shutil.which("ffmpeg") and shutil.which("bwrap"))
    and not os.environ.get("ODA_TEST_REQUIRE_SERVERS"),
    reason="needs ffmpeg and bubblewrap",
)


def make_video(path: Path) -> None:
    """Three seconds of a picture that moves, with a tone."""
    subprocess.run([*_MAKE.split(), str(path)], check=True)
