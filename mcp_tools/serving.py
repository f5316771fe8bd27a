"""How every MCP server of this package is reached: over stdio, or over streamable HTTP."""

import argparse

from mcp.server.mcpserver import MCPServer


def add_transport(parser: argparse.ArgumentParser, *, port: int) -> None:
    """Add the options that `serve` reads; `port` is the server's own by default."""
    parser.add_argument("--transport", choices=("stdio", "http"), default="stdio")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=port, help="the path is /mcp")


def serve(server: MCPServer, options: argparse.Namespace) -> None:
    """Serve until the client disconnects or the process is terminated."""
    if options.transport == "stdio":
        server.run()
    else:
        server.run(transport="streamable-http", host=options.host, port=options.port)
