"""ADK's own routes and dev UI, backed by our sessions, artifacts and turns."""
