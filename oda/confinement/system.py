"""System paths that any program needs; confined code may read them."""

from pathlib import Path

PREFIXES = (Path("/usr"), Path("/usr/local"))
"""Not exposed as a whole: servers, with their secrets, are installed below them too."""

FOLDERS = tuple(
    folder
    for prefix in PREFIXES
    for name in ("bin", "lib", "lib32", "lib64", "libexec", "share")
    if (folder := prefix / name).is_dir()
)

ROOT_FOLDERS = tuple(
    folder for name in ("bin", "lib", "lib32", "lib64") if (folder := Path("/", name)).is_dir()
)
"""Links to the folders above, on most systems."""

FILES = tuple(
    Path("/etc", name)
    for name in ("ld.so.cache", "alternatives", "fonts", "localtime", "mime.types")
    if Path("/etc", name).exists()
)
"""Configuration of libraries, fonts, the time zone and MIME types."""
