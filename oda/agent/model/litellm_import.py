"""Import of LiteLLM: late, off the event loop, and without network access."""

import asyncio
import logging
import os
import sys
from functools import cache

_LOGGERS = ("LiteLLM", "LiteLLM Proxy", "LiteLLM Router")


def prepare_litellm() -> None:
    """Set the environment variables that LiteLLM reads when it is imported."""
    # Use the price table that it ships instead of downloading one.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    # Its own HTTP handler does not get slower with the history, as OpenAI's client does.
    os.environ.setdefault("EXPERIMENTAL_OPENAI_BASE_LLM_HTTP_HANDLER", "True")


def import_litellm() -> None:
    """Import LiteLLM, which takes seconds, and suppress its debug output."""
    prepare_litellm()
    import litellm

    litellm.suppress_debug_info = True


async def litellm_ready() -> None:
    """Import LiteLLM in a thread, unless it is already imported."""
    if "litellm" not in sys.modules:
        await asyncio.to_thread(import_litellm)
    _remove_log_handlers()


@cache
def _remove_log_handlers() -> None:
    """Remove LiteLLM's own log handlers, which would log each line again, with its secrets."""
    for name in _LOGGERS:
        logging.getLogger(name).handlers.clear()


async def close_clients() -> None:
    """Close the HTTP clients that LiteLLM caches, and clear the cache."""
    litellm = sys.modules.get("litellm")
    close = getattr(litellm, "close_litellm_async_clients", None)
    if litellm is None or close is None:  # not imported, or still being imported in a thread
        return
    await close()
    # LiteLLM 1.96 would go on using the closed clients.
    litellm.in_memory_llm_clients_cache.flush_cache()
    vars(litellm).pop("module_level_aclient", None)
