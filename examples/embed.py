"""A conversation inside a host application."""

import asyncio

from oda import OdaContext


async def main() -> None:
    async with OdaContext.from_settings() as oda:
        session = await oda.sessions.create("cv")
        print(await session.ask("添加一条工作经历：在腾讯做后端工程师，2019年3月到2021年6月"))


if __name__ == "__main__":
    asyncio.run(main())
