"""The doors of the orchestrator, with pings that a test can wait for."""

from fastapi import APIRouter

from oda.server import orchestrator_routes

from .agent import root_agent


def routes() -> APIRouter:
    return orchestrator_routes(root_agent, ping_every_s=0.5)
