"""The programs that read strangers' files; they run in a sandbox, so they know no `oda`.

A module imports its library, the standard library and its neighbours (`from .pieces import …`).
"""
