"""Search in a folder of Markdown and text documents, in English and Chinese.

`documents` reads the folder, `ranking` orders its sections by a query (BM25), `server` offers both
over MCP. Run it with `python -m mcp_tools.search --root DIR`.
"""
