"""Domain logic as plain modules, each with a thin MCP server."""
