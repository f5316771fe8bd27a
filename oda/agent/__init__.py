"""Agents: their definitions and models, and turns with retry and resume."""
