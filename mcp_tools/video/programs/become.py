"""Become ffprobe or ffmpeg for one file: `become TOOL SOURCE FOLDER ARGUMENT…`.

The process is replaced, since a sandbox does not allow starting one. The file's format is detected
from its first bytes: playlists of other files are refused, and ffmpeg is given the format
explicitly and allowed no protocol but `file`. In the arguments, `@` is replaced by the input with
these options. On failure one JSON object, `{"error": code}`, is printed, and the exit code is 3.
"""

import json
import os
import shutil
import sys
from typing import NoReturn

_EBML = b"\x1a\x45\xdf\xa3"
_PACK = b"\x00\x00\x01\xba"
_RIFF, _FLV, _OGG, _ASF = b"RIFF", b"FLV", b"OggS", b"\x30\x26\xb2\x75"
_SYNC = 0x47
_PACKET = 188


def main(tool: str, source: str, folder: str, *arguments: str) -> None:
    """Check the file and run the tool."""
    path = shutil.which(tool)
    if path is None:
        _fail("no_ffmpeg")
    demuxer = _demuxer(source)
    if demuxer is None:
        _fail("no_video")
    if folder:
        os.makedirs(folder, exist_ok=True)  # noqa: PTH103
    known = ["-protocol_whitelist", "file", "-f", demuxer, "-i", f"file:{source}"]
    command = [tool]
    for argument in arguments:
        command.extend(known if argument == "@" else [argument])
    try:
        os.execv(path, command)
    except OSError:
        _fail("no_exec")


def _demuxer(source: str) -> str | None:
    with open(source, "rb") as file:  # noqa: PTH123
        head = file.read(2 * _PACKET)
    if head[4:8] in (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip"):
        return "mov"
    if head.startswith(_RIFF) and head[8:12] == b"AVI ":
        return "avi"
    for start, name in ((_EBML, "matroska"), (_PACK, "mpeg"), (_FLV, "flv"), (_OGG, "ogg")):
        if head.startswith(start):
            return name
    if head.startswith(_ASF):
        return "asf"
    is_stream = len(head) > _PACKET and head[0] == _SYNC and head[_PACKET] == _SYNC
    return "mpegts" if is_stream else None


def _fail(code: str) -> NoReturn:
    print(json.dumps({"error": code}))
    sys.exit(3)


if __name__ == "__main__":
    main(*sys.argv[1:])
