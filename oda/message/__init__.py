"""Messages shown to clients: sanitized texts, contents, replies."""
