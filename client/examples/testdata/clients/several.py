import asyncio

from conclave_client import AsyncClient


async def ask(*questions: str) -> None:
    async with AsyncClient("http://127.0.0.1:8080") as conclave:
        for answer in await asyncio.gather(*(conclave.search(q, k=1) for q in questions)):
            print(answer.question, answer.results[0].id)


asyncio.run(ask("why did the fox hide the moon", "what makes leaves green"))
