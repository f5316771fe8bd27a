"""`python -m mcp_tools.recitation`: serve over stdio or streamable HTTP."""

import argparse
import sys

from mcp_tools.recitation import warm_up
from mcp_tools.recitation.server import make_server


def main() -> int:
    """Serve until the client leaves or the process is told to end."""
    parser = argparse.ArgumentParser(prog="python -m mcp_tools.recitation", description=__doc__)
    parser.add_argument("--transport", choices=("stdio", "http"), default="stdio")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8092, help="the path is /mcp")
    options = parser.parse_args()
    warm_up()
    server = make_server()
    if options.transport == "stdio":
        server.run()
    else:
        server.run(transport="streamable-http", host=options.host, port=options.port)
    return 0


if __name__ == "__main__":
    sys.exit(main())
