"""Who asks: principals, API keys, tokens of an issuer, and what makes one of the other."""
