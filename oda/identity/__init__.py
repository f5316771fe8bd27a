"""Authentication: principals, API keys, and tokens of an issuer."""
