"""Webhooks: signed, sent to guarded addresses, and tried again for a day."""
