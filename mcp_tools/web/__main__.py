"""`python -m mcp_tools.web`: search the web and read pages, over stdio or streamable HTTP.

The environment says which search engine is asked: see `mcp_tools.web.config`.
"""

import argparse
import sys

from mcp_tools.serving import add_transport, serve
from mcp_tools.web import config
from mcp_tools.web.errors import WebConfigError
from mcp_tools.web.server import make_server
from mcp_tools.web.web import Web


def main() -> int:
    """Serve until the client disconnects or the process is terminated."""
    parser = argparse.ArgumentParser(
        prog="python -m mcp_tools.web",
        description=config.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_transport(parser, port=8094)
    options = parser.parse_args()
    try:
        server = make_server(Web())
    except WebConfigError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    serve(server, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
