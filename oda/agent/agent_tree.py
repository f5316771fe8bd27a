"""Walks over ADK's agent trees and graphs."""

from collections.abc import Iterator
from typing import TypeGuard

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.loop_agent import LoopAgent
from google.adk.agents.parallel_agent import ParallelAgent
from google.adk.agents.sequential_agent import SequentialAgent

Composite = SequentialAgent | LoopAgent | ParallelAgent


def is_composite(node: object) -> TypeGuard[Composite]:
    """Whether a node only runs others, in ADK's own order."""
    return isinstance(node, Composite)


def agents_below(node: object) -> Iterator[BaseAgent]:
    """All agents of a tree, its root included, through graphs and sub-agents."""
    if isinstance(node, BaseAgent):
        yield node
    graph = getattr(node, "graph", None)
    for child in (*getattr(node, "sub_agents", ()), *getattr(graph, "nodes", ())):
        yield from agents_below(child)


def speaks_for(root: object, author: str) -> bool:
    """Whether `root` is done when the agent `author` has answered: only LLM agents lie between."""
    if not isinstance(root, LlmAgent):
        return False
    agent = root.find_agent(author)
    while isinstance(agent, LlmAgent) and agent is not root:
        agent = agent.parent_agent
    return agent is root
