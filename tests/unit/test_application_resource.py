"""What an application opens for a process: once in a context, for each use elsewhere."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from oda.application_resource import ApplicationResource, OpenResources, default_resources


class House:
    """Counts its doors."""

    def __init__(self) -> None:
        self.opened = 0
        self.closed = 0
        self.broken = False

    @asynccontextmanager
    async def door(self) -> AsyncIterator[int]:
        await asyncio.sleep(0)
        if self.broken:
            raise OSError("the key is lost")
        self.opened += 1
        try:
            yield self.opened
        finally:
            self.closed += 1


async def used(resource: ApplicationResource[int]) -> int:
    async with resource.use() as one:
        await asyncio.sleep(0)
        return one


async def test_in_a_context_it_is_opened_once_and_closed_with_it() -> None:
    house = House()
    resource = ApplicationResource(house.door)
    async with OpenResources() as resources:
        with default_resources.set(resources):
            first, second = await asyncio.gather(used(resource), used(resource))
            assert (first, second) == (1, 1)
            assert await used(ApplicationResource(house.door)) == 2
        assert (house.opened, house.closed) == (2, 0)
    assert house.closed == 2


async def test_elsewhere_each_use_has_its_own() -> None:
    house = House()
    resource = ApplicationResource(house.door)
    assert [await used(resource), await used(resource)] == [1, 2]
    assert house.closed == 2


async def test_what_could_not_be_opened_is_tried_again() -> None:
    house = House()
    house.broken = True
    resource = ApplicationResource(house.door)
    async with OpenResources() as resources:
        with default_resources.set(resources):
            with pytest.raises(OSError, match="key"):
                await used(resource)
            house.broken = False
            assert await used(resource) == 1


async def test_one_may_use_another_that_outlives_it() -> None:
    closed: list[str] = []

    @asynccontextmanager
    async def inner() -> AsyncIterator[int]:
        yield 1
        closed.append("inner")

    @asynccontextmanager
    async def outer() -> AsyncIterator[int]:
        async with below.use() as one:
            yield one + 1
        closed.append("outer")

    below = ApplicationResource(inner)
    async with OpenResources() as resources:
        with default_resources.set(resources):
            assert await asyncio.wait_for(used(ApplicationResource(outer)), 10) == 2
    assert closed == ["outer", "inner"]
