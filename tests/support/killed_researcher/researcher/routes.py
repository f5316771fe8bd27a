"""The researcher's own routes."""

from agents.researcher.routes import routes

__all__ = ["routes"]
