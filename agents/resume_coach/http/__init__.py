"""The coach's own HTTP endpoint: sessions, messages, views and diffs."""
