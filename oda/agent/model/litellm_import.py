"""LiteLLM as it should be imported: late, off the event loop, and without the network."""

import asyncio
import logging
import os
import sys
from functools import cache

_LOGGERS = ("LiteLLM", "LiteLLM Proxy", "LiteLLM Router")


def prepare_litellm() -> None:
    """What LiteLLM reads from the environment when it is imported.

    Its price table is the one that it ships, not a download; OpenAI-like calls go through its own
    HTTP handler, whose cost does not grow with the history as that of OpenAI's client does.
    """
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("EXPERIMENTAL_OPENAI_BASE_LLM_HTTP_HANDLER", "True")


def import_litellm() -> None:
    """Import LiteLLM, which takes seconds, and keep it from printing."""
    prepare_litellm()
    import litellm

    litellm.suppress_debug_info = True


async def litellm_ready() -> None:
    """Import LiteLLM in a thread, unless it is there."""
    if "litellm" not in sys.modules:
        await asyncio.to_thread(import_litellm)
    _log_as_all_do()


@cache
def _log_as_all_do() -> None:
    """Take LiteLLM's own log handlers away: they would print each line twice, secrets included."""
    for name in _LOGGERS:
        logging.getLogger(name).handlers.clear()


async def close_clients() -> None:
    """Close the HTTP clients that LiteLLM keeps, and make it forget them.

    It would go on with the closed ones, up to some version (1.96 does). While it is being imported,
    in a thread that nobody waits for any more, there are none.
    """
    litellm = sys.modules.get("litellm")
    close = getattr(litellm, "close_litellm_async_clients", None)
    if litellm is None or close is None:
        return
    await close()
    litellm.in_memory_llm_clients_cache.flush_cache()
    vars(litellm).pop("module_level_aclient", None)
