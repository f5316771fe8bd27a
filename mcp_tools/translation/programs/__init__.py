"""The programs that open strangers' files; made to run in a sandbox, where they lie side by side.

A module imports its library, the standard library and its neighbours (`from .spans import …`).
"""
