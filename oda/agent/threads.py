"""Tools that are not `async` run in threads, so that none of them stops the event loop.

ADK has a setting for that (`RunConfig.tool_thread_pool_config`), but it moves `async` tools into
other event loops, away from the connections that belong to ours. This uses the part below it, a
private name of ADK 2.13, which moves synchronous functions only.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from google.adk.utils._sync_runner import _get_tool_thread_pool, _use_executor_for_sync_callables


@contextmanager
def sync_tools_in_threads(threads: int) -> Iterator[None]:
    """For the running task and what it starts: at most `threads` synchronous tools at a time."""
    with _use_executor_for_sync_callables(_get_tool_thread_pool(threads)):
        yield
