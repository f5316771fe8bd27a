"""The MCP face: every app is an MCP server at `/mcp/{app}`, over streamable HTTP.

Nothing is kept between requests. A call of `ask` is a turn, and what its stream says is the log of
that turn, so any node can serve any request, before and after a restart.
"""
