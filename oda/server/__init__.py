"""Doors over HTTP. They submit turns and encode what comes of them; no decisions are made here."""
