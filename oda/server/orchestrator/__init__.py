"""The doors of an orchestrator: messages as JSON, streams or over a WebSocket, and its steps."""
