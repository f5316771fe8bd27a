"""Configuration of models, agents, MCP servers, capabilities and retry policies, from YAML files.

Importing this package is cheap: it imports neither ADK, nor MCP, nor any model library.
"""

from oda.config.files import (
    ConfigurationFiles,
    configured_by,
    current_configuration,
    default_directory,
    load_configuration,
)
from oda.config.records import (
    AgentRecord,
    AnyMcpServerRecord,
    CapabilityRecord,
    Configuration,
    McpServerRecord,
    ModelRecord,
    RemoteMcpServerRecord,
    RetryRecord,
    StdioMcpServerRecord,
    ToolPolicyRecord,
    TriggerRecord,
    WebhookRecord,
)
from oda.config.secrets import resolve_secrets

__all__ = [
    "AgentRecord",
    "AnyMcpServerRecord",
    "CapabilityRecord",
    "Configuration",
    "ConfigurationFiles",
    "McpServerRecord",
    "ModelRecord",
    "RemoteMcpServerRecord",
    "RetryRecord",
    "StdioMcpServerRecord",
    "ToolPolicyRecord",
    "TriggerRecord",
    "WebhookRecord",
    "configured_by",
    "current_configuration",
    "default_directory",
    "load_configuration",
    "resolve_secrets",
]
