"""`python -m mcp_tools.homework`: check homework over stdio or streamable HTTP."""

import argparse
import sys
from typing import get_args

from mcp_tools.homework import Language, SolverMissingError, warm_up
from mcp_tools.homework.server import make_server
from mcp_tools.serving import add_transport, serve


def main() -> int:
    """Serve until the client disconnects or the process is terminated."""
    parser = argparse.ArgumentParser(prog="python -m mcp_tools.homework", description=__doc__)
    parser.add_argument(
        "--language",
        choices=get_args(Language),
        default="zh",
        help="of comments where the work is of signs alone",
    )
    add_transport(parser, port=8093)
    options = parser.parse_args()
    try:
        warm_up()
    except SolverMissingError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    serve(make_server(options.language), options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
