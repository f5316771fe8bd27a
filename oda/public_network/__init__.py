"""Connections to strangers' addresses: which may be reached, and that no other one is.

`addresses` defines them, `urls` reads URLs in one way, and `connection` checks each address when it
connects. Pages and webhooks are reached through it.
"""
