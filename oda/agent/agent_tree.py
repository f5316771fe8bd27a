"""Traversal of ADK's agent trees and graphs."""

from collections.abc import Iterator
from typing import TypeGuard

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.loop_agent import LoopAgent
from google.adk.agents.parallel_agent import ParallelAgent
from google.adk.agents.sequential_agent import SequentialAgent

Composite = SequentialAgent | LoopAgent | ParallelAgent


def is_composite(node: object) -> TypeGuard[Composite]:
    """Return whether a node is one of ADK's workflow agents, which only run other agents."""
    return isinstance(node, Composite)


def agents_below(node: object) -> Iterator[BaseAgent]:
    """Yield all agents of a tree, including its root, through graphs and sub-agents."""
    if isinstance(node, BaseAgent):
        yield node
    graph = getattr(node, "graph", None)
    for child in (*getattr(node, "sub_agents", ()), *getattr(graph, "nodes", ())):
        yield from agents_below(child)


def speaks_for(root: object, author: str) -> bool:
    """Return whether an answer of the agent `author` is an answer of `root`.

    That is so if all agents from `author` up to `root` are LLM agents.
    """
    if not isinstance(root, LlmAgent):
        return False
    agent = root.find_agent(author)
    while isinstance(agent, LlmAgent) and agent is not root:
        agent = agent.parent_agent
    return agent is root
