"""Runs synchronous tools in threads, so that they do not block the event loop.

ADK's own setting (`RunConfig.tool_thread_pool_config`) also moves `async` tools, into event loops
in which connections of the main loop do not work. This uses the private function of ADK 2.13 below
that setting, which moves synchronous functions only.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from google.adk.utils._sync_runner import _get_tool_thread_pool, _use_executor_for_sync_callables


@contextmanager
def sync_tools_in_threads(threads: int) -> Iterator[None]:
    """Run synchronous tools of the current task and its children in at most `threads` threads."""
    with _use_executor_for_sync_callables(_get_tool_thread_pool(threads)):
        yield
