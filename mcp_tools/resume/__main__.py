"""`python -m mcp_tools.resume`: serve the resumes of a folder over stdio or streamable HTTP."""

import argparse
import os
import sys
from pathlib import Path
from typing import get_args

from mcp_tools.resume.files import ResumeFiles
from mcp_tools.resume.labels import Language
from mcp_tools.resume.server import make_server
from mcp_tools.serving import add_transport, serve

FOLDER_VARIABLE = "RESUME_FOLDER"


def main() -> int:
    """Serve until the client disconnects or the process is terminated."""
    parser = argparse.ArgumentParser(prog="python -m mcp_tools.resume", description=__doc__)
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path(os.environ.get(FOLDER_VARIABLE) or "resumes"),
        help=f"where the resumes are (default: ${FOLDER_VARIABLE}, else resumes)",
    )
    parser.add_argument("--language", choices=get_args(Language), default="en", help="of errors")
    add_transport(parser, port=8091)
    options = parser.parse_args()
    if options.folder.exists() and not options.folder.is_dir():
        print(f"error: {options.folder} is not a folder", file=sys.stderr)
        return 2
    serve(make_server(ResumeFiles(options.folder, language=options.language)), options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
