"""Converts a model's text to an article that is safe to store and show, with cover and slides."""
