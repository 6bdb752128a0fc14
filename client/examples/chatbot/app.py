"""A chatbot's back end: it answers from a conclave server's passages, with citations, and says "I don't know".

    pip install fastapi uvicorn ./client/python
    MODEL_URL=http://127.0.0.1:11434/v1 MODEL=llama3.2 uvicorn --app-dir client/examples/chatbot app:app --port 8000
    curl 127.0.0.1:8000/chat -H 'content-type: application/json' -d '{"question": "why did the fox hide the moon?"}'

The model is anything that has OpenAI's chat completions. It is not asked where the server's verdict is "not_found", and
what it says without citing a passage is not passed on. A reply has the verdict, "doubtful" too. Where the server has
the shipped reader, or the one that READER names, a citation has the words that answer, and where they are.
"""

import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from conclave_client import Answer, AsyncClient, Problem, Result
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel, Field

UNKNOWN = "I don't know."
READER = os.environ.get("READER", "reader")
INSTRUCTIONS = (
    "Answer the question from the passages alone, in a few sentences. Put the number of each passage that you use "
    "behind what it says, as in [2]. If the passages do not answer the question, say: " + UNKNOWN
)


class Turn(BaseModel):
    """What was said before."""

    role: str = Field(pattern="^(user|assistant)$")
    content: str


class Question(BaseModel):
    question: str = Field(min_length=1, max_length=2000)
    history: list[Turn] = Field(default_factory=list, max_length=20)


class Marked(BaseModel):
    """Words of a passage that answer, by where they are in its text, in bytes of UTF-8."""

    text: str
    start: int
    end: int
    chance: float | None


class Citation(BaseModel):
    number: int
    id: str
    title: str
    text: str
    marked: list[Marked]


class Reply(BaseModel):
    answer: str
    verdict: str
    citations: list[Citation]


@asynccontextmanager
async def clients(app: FastAPI) -> AsyncIterator[None]:
    key = os.environ.get("MODEL_KEY", "")
    address = os.environ.get("CONCLAVE_URL", "http://127.0.0.1:8080")
    model = httpx.AsyncClient(
        base_url=os.environ.get("MODEL_URL", "http://127.0.0.1:11434/v1"),
        headers={"authorization": f"Bearer {key}"} if key else {},
        timeout=60,
    )
    async with AsyncClient(address, key=os.environ.get("CONCLAVE_KEY", "")) as app.state.conclave, model:
        app.state.model = model
        yield


app = FastAPI(title="Chat over a conclave collection", lifespan=clients)


async def ask_model(question: Question, passages: list[Result]) -> str:
    numbered = "\n\n".join(f"[{i}] {p.title}\n{p.text}" for i, p in enumerate(passages, 1))
    said = [turn.model_dump() for turn in question.history]
    messages = [
        {"role": "system", "content": INSTRUCTIONS},
        *said,
        {"role": "user", "content": f"{numbered}\n\nQuestion: {question.question}"},
    ]
    asked = {"model": os.environ.get("MODEL", "llama3.2"), "messages": messages, "temperature": 0}
    response = await app.state.model.post("/chat/completions", json=asked)
    response.raise_for_status()
    return str(response.json()["choices"][0]["message"]["content"])


async def find(question: str) -> Answer:
    try:
        # It is named, since the first reader may be one that writes: that is what the model is for.
        return await app.state.conclave.search(question, k=5, answer={"reader": READER})
    except Problem as problem:
        if problem.code not in ("needs_reader", "unknown_reader"):
            raise
        return await app.state.conclave.search(question, k=5)


@app.post("/chat")
async def chat(question: Question) -> Reply:
    try:
        found = await find(question.question)
        if not found.results or found.verdict == "not_found":
            return Reply(answer=UNKNOWN, verdict=found.verdict, citations=[])
        answer = await ask_model(question, found.results)
    except (Problem, httpx.HTTPError) as error:
        raise HTTPException(502, f"no answer from behind: {error}") from error
    cited = sorted({int(n) for n in re.findall(r"\[(\d+)\]", answer) if 0 < int(n) <= len(found.results)})
    if not cited:
        return Reply(answer=UNKNOWN, verdict=found.verdict, citations=[])
    passages = [(n, found.results[n - 1]) for n in cited]
    marked = [(a.passage, Marked(text=a.text, start=a.start, end=a.end, chance=a.chance)) for a in found.answers]
    citations = [
        Citation(number=n, id=p.id, title=p.title, text=p.text, marked=[m for passage, m in marked if passage == p.id])
        for n, p in passages
    ]
    return Reply(answer=answer, verdict=found.verdict, citations=citations)
