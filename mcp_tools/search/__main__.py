"""`python -m mcp_tools.search`: serve a folder over stdio or streamable HTTP."""

import argparse
import sys
from pathlib import Path

from mcp_tools.search.documents import DocumentError, Documents
from mcp_tools.search.server import make_server
from mcp_tools.serving import add_transport, serve


def main() -> int:
    """Serve until the client disconnects or the process is terminated."""
    parser = argparse.ArgumentParser(prog="python -m mcp_tools.search", description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(), help="the folder (default: current)")
    parser.add_argument(
        "--include", nargs="+", default=["."], help="files and folders in it (default: all)"
    )
    add_transport(parser, port=8090)
    options = parser.parse_args()
    try:
        server = make_server(Documents(options.root, include=options.include))
    except DocumentError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    serve(server, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
