"""A chatbot's back end: it answers from a conclave server's collection, and says where that has no answer.

    pip install fastapi uvicorn httpx
    uvicorn --app-dir client/examples/chatbot app:app --port 8000
    curl 127.0.0.1:8000/chat -H 'content-type: application/json' -d '{"question": "why did the fox hide the moon?"}'

The server writes the answer by the generator that MODEL names, or by what it has. Where the verdict is "not_found",
no model is asked, and the answer says that the collection has none.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel, Field


class Turn(BaseModel):
    """What was said before."""

    role: str = Field(pattern="^(user|assistant)$")
    content: str


class Question(BaseModel):
    question: str = Field(min_length=1, max_length=2000)
    history: list[Turn] = Field(default_factory=list, max_length=20)


class Citation(BaseModel):
    """A passage, and where in the answer it is cited, in characters."""

    start_index: int
    end_index: int
    title: str
    url: str


class Reply(BaseModel):
    answer: str
    verdict: str
    citations: list[Citation]


@asynccontextmanager
async def clients(app: FastAPI) -> AsyncIterator[None]:
    address, key = os.environ.get("CONCLAVE_URL", "http://127.0.0.1:8080"), os.environ.get("CONCLAVE_KEY", "none")
    async with httpx.AsyncClient(
        base_url=address, headers={"authorization": f"Bearer {key}"}, timeout=60
    ) as app.state.server:
        yield


app = FastAPI(title="Chat over a conclave collection", lifespan=clients)


@app.post("/chat")
async def chat(question: Question) -> Reply:
    messages = [t.model_dump() for t in question.history] + [{"role": "user", "content": question.question}]
    asked = {"model": os.environ.get("MODEL", "conclave"), "messages": messages}
    try:
        response = await app.state.server.post("/v1/chat/completions", json=asked)
        response.raise_for_status()
    except httpx.HTTPError as error:
        raise HTTPException(502, f"no answer from behind: {error}") from error
    said = response.json()
    message = said["choices"][0]["message"]
    cited = [a["url_citation"] for a in message.get("annotations", [])]
    return Reply(answer=message["content"], verdict=said.get("verdict", ""), citations=cited)
