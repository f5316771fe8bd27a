"""`python -m mcp_tools.search`: serve a folder over stdio or streamable HTTP."""

import argparse
import sys
from pathlib import Path

from mcp_tools.search.documents import DocumentError, Documents
from mcp_tools.search.server import make_server


def main() -> int:
    """Serve until the client leaves or the process is told to end."""
    parser = argparse.ArgumentParser(prog="python -m mcp_tools.search", description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(), help="the folder (default: current)")
    parser.add_argument(
        "--include", nargs="+", default=["."], help="files and folders in it (default: all)"
    )
    parser.add_argument("--transport", choices=("stdio", "http"), default="stdio")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8090, help="the path is /mcp")
    options = parser.parse_args()
    try:
        server = make_server(Documents(options.root, include=options.include))
    except DocumentError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if options.transport == "stdio":
        server.run()
    else:
        server.run(transport="streamable-http", host=options.host, port=options.port)
    return 0


if __name__ == "__main__":
    sys.exit(main())
