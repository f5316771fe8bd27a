"""Rate limits count in fixed windows of the machine's time; tests stay inside of one."""

import asyncio
import time

LONGEST_TEST_S = 10.0


async def beginning_of(window_s: int) -> None:
    """Return early enough in a window, so that none ends while a test counts."""
    left = window_s - time.time() % window_s
    if left < min(LONGEST_TEST_S, 0.8 * window_s):
        await asyncio.sleep(left)
