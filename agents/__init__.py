"""Reference applications; each folder is an ADK app."""
