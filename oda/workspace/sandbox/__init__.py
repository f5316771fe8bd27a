"""Execution of untrusted code: one interface, several sandboxes."""
