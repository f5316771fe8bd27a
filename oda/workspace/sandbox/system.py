"""What any program needs of the system that it runs on; code may read it, and nothing else."""

from pathlib import Path

PREFIXES = (Path("/usr"), Path("/usr/local"))
"""Not shown as they are: servers are installed below them too, with all that they know."""

FOLDERS = tuple(
    folder
    for prefix in PREFIXES
    for name in ("bin", "lib", "lib32", "lib64", "libexec", "share")
    if (folder := prefix / name).is_dir()
)

ROOT_FOLDERS = tuple(
    folder for name in ("bin", "lib", "lib32", "lib64") if (folder := Path("/", name)).is_dir()
)
"""On most systems links to the folders above."""

FILES = tuple(
    Path("/etc", name)
    for name in ("ld.so.cache", "alternatives", "fonts", "localtime", "mime.types")
    if Path("/etc", name).exists()
)
"""Where libraries, fonts, the time zone and the kinds of files are looked up."""
