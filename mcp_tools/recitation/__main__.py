"""`python -m mcp_tools.recitation`: serve over stdio or streamable HTTP."""

import argparse
import sys

from mcp_tools.recitation import warm_up
from mcp_tools.recitation.server import make_server
from mcp_tools.serving import add_transport, serve


def main() -> int:
    """Serve until the client disconnects or the process is terminated."""
    parser = argparse.ArgumentParser(prog="python -m mcp_tools.recitation", description=__doc__)
    add_transport(parser, port=8092)
    options = parser.parse_args()
    warm_up()
    serve(make_server(), options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
