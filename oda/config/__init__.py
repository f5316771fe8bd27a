"""What exists: models, agents, MCP servers and retry policies, read from YAML files.

Importing this package is cheap: it knows neither ADK, nor MCP, nor any model library.
"""

from oda.config.files import ConfigurationFiles, default_directory, load_configuration
from oda.config.records import (
    AgentRecord,
    AnyMcpServerRecord,
    Configuration,
    McpServerRecord,
    ModelRecord,
    RemoteMcpServerRecord,
    RetryRecord,
    StdioMcpServerRecord,
)
from oda.config.secrets import resolve_secrets

__all__ = [
    "AgentRecord",
    "AnyMcpServerRecord",
    "Configuration",
    "ConfigurationFiles",
    "McpServerRecord",
    "ModelRecord",
    "RemoteMcpServerRecord",
    "RetryRecord",
    "StdioMcpServerRecord",
    "default_directory",
    "load_configuration",
    "resolve_secrets",
]
