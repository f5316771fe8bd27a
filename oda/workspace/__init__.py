"""Workspaces of agents: a directory for each run, its files, and a sandbox for code."""
