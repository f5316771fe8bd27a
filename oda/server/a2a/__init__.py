"""A2A 1.0: an app as an agent whose tasks are turns, by JSON-RPC and HTTP+JSON.

A context is a session, a task is a turn, and the id of a message is its idempotency key. Everything
here but `routes.py` needs the extra `a2a`, and is imported by the first request.
"""
