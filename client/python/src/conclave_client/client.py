"""The clients, with and without asyncio. They have the same methods."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

import httpx

from . import calls
from .calls import Call
from .errors import Problem
from .requests import Deletion, SearchOptions, SearchRequest
from .types import (
    Answer,
    Answered,
    Document,
    Expert,
    Job,
    Passage,
    Settings,
    Suggestion,
    Unanswered,
    Written,
)

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

T = TypeVar("T")

# How often it is asked, in seconds, how far a job is.
POLL = 0.2


class _Options:
    def __init__(
        self, address: str = "http://127.0.0.1:8080", *, key: str = "", attempts: int = 4, timeout: float = 60
    ) -> None:
        """A server to call. What it refuses because it has too much to do, and what does not reach it, is sent
        again, at most attempts times in all and after as long as the server asks for. timeout is that of each
        attempt, in seconds."""
        headers = {"authorization": f"Bearer {key}"} if key else {}
        self._attempts = attempts
        self._options: dict[str, Any] = {"base_url": address, "headers": headers, "timeout": timeout}


def _request(call: Call[Any]) -> dict[str, Any]:
    asked: dict[str, Any] = {"params": call.params, "headers": call.headers}
    if call.json is not None:
        asked["json"] = call.json
    if call.content is not None:
        asked["content"] = call.content
    return asked


def _answer(response: httpx.Response, call: Call[T]) -> T:
    if response.status_code >= 300:
        raise Problem.of(response)
    return call.read(response)


def _upload(client: Any, passages: Any, visible: bool) -> Any:
    params = {"refresh": "wait"} if visible else {}
    headers = {"content-type": "application/x-ndjson"}
    # Its answer takes as long as the encoding of what is sent, where it waits for that.
    return client.stream("POST", "/v1/passages", params=params, headers=headers, content=passages, timeout=None)


def _lines_follow(response: httpx.Response) -> bool:
    return bool(response.headers.get("content-type", "").startswith("application/x-ndjson"))


class Client(_Options):
    """A server, called from one thread or several. Close it, or use it in a with statement."""

    def __init__(
        self, address: str = "http://127.0.0.1:8080", *, key: str = "", attempts: int = 4, timeout: float = 60
    ) -> None:
        super().__init__(address, key=key, attempts=attempts, timeout=timeout)
        self._http = httpx.Client(**self._options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes its connections."""
        self._http.close()

    def _do(self, call: Call[T]) -> T:
        for attempt in range(1, self._attempts + 1):
            try:
                return _answer(self._http.request(call.method, call.path, **_request(call)), call)
            except (Problem, httpx.TransportError) as error:
                wait = calls.pause(error, attempt, call.once)
                if wait is None or attempt == self._attempts:
                    raise
            time.sleep(wait)
        raise AssertionError("unreachable")

    def search(self, question: str = "", **options: Unpack[SearchOptions]) -> Answer:
        """Asks one question, or the last of messages=[{"role", "content"}]; with both, the question behind these."""
        return self._do(calls.search(question, options))

    def search_batch(self, searches: Iterable[str | SearchRequest]) -> list[Answer | Problem]:
        """Asks several at once, at most limits()["batch"]. A mistake in one leaves the others alone."""
        return self._do(calls.search_batch(searches))

    def embed(self, texts: list[str], *, expert: str = "base", kind: str = "question") -> NDArray[numpy.float32]:
        """An expert's vectors, [len(texts), dimension]; kind is "question" or "passage"."""
        return self._do(calls.embed(texts, expert, kind))

    def experts(self) -> list[Expert]:
        """The experts that are loaded."""
        return self._do(calls.experts())

    def suggest(self, typed: str, *, limit: int | None = None) -> list[Suggestion]:
        """Completions of what somebody begins to type: titles and headings of what the key may see."""
        return self._do(calls.suggest(typed, limit))

    def limits(self) -> dict[str, Any]:
        """Every limit in force, and what a request gets that does not say otherwise."""
        return self._do(calls.limits())

    def passage(self, id: str) -> Passage:
        """A passage, with its version."""
        return self._do(calls.passage(id))

    def put(
        self, passage: Passage, *, if_version: str | None = None, if_absent: bool = False, visible: bool = False
    ) -> Written:
        """Creates or replaces a passage: only where if_version is stored, only where there is none. With visible
        it returns when searches see it."""
        return self._do(calls.put(passage, if_version, if_absent, visible))

    def delete(self, id: str, *, if_version: str | None = None, visible: bool = False) -> Written:
        """Deletes a passage."""
        return self._do(calls.delete(id, if_version, visible))

    def passages(self) -> Iterator[Passage]:
        """All passages that searches see, in the order of their ids."""
        page, after = self._do(calls.passages(""))
        while True:
            yield from page
            if not after:
                return
            page, after = self._do(calls.passages(after))

    def put_document(
        self,
        id: str,
        file: bytes,
        *,
        content_type: str = "",
        encoding: str = "",
        title: str = "",
        source: str = "",
        tags: Iterable[str] = (),
        metadata: dict[str, Any] | None = None,
        if_version: str | None = None,
        if_absent: bool = False,
        visible: bool = False,
    ) -> Written:
        """Puts a file in the place of a document, whole. What the file is, is found out where content_type is ""."""
        about: dict[str, Any] = {"content_type": content_type, "encoding": encoding, "title": title, "source": source}
        about |= {"tags": tags, "metadata": metadata}
        return self._do(calls.put_document(id, file, about, if_version, if_absent, visible))

    def document(self, id: str) -> Document:
        """A document, with its text as it was read."""
        return self._do(calls.document(id))

    def original(self, id: str) -> bytes:
        """The file that a document was read from; the problem no_original where it is not kept."""
        return self._do(calls.original(id))

    def delete_document(self, id: str, *, if_version: str | None = None, visible: bool = False) -> Written:
        """Deletes a document with all its passages."""
        return self._do(calls.delete_document(id, if_version, visible))

    def add_site(
        self,
        url: str,
        *,
        site: bool = False,
        tags: list[str] | None = None,
        include: list[str] | None = None,
        exclude: list[str] | None = None,
        depth: int = 0,
        pages: int = 0,
    ) -> Job:
        """Starts a job that adds a page of the web, or with site all pages below its folder: what changed since the
        last time is replaced, and what is gone removed. The problem is host_not_allowed where the administrator has
        not allowed the host."""
        about = {"include": include, "exclude": exclude, "depth": depth, "pages": pages}
        return self._do(calls.add_site(url, site, tags or [], about))

    def documents(self, *, prefix: str = "", match: str = "") -> Iterator[Document]:
        """The documents whose ids begin with prefix, and whose ids or titles contain match."""
        page, after = self._do(calls.documents(prefix, match, ""))
        while True:
            yield from page
            if not after:
                return
            page, after = self._do(calls.documents(prefix, match, after))

    def upload(self, passages: Iterable[Passage | dict[str, Any]], *, visible: bool = False) -> Iterator[Written]:
        """Sends many passages, and yields what became of each, in their order. A bad one does not stop the
        others. An upload is sent once."""
        with _upload(self._http, calls.upload_lines(passages), visible) as response:
            if response.status_code >= 300 and not _lines_follow(response):
                response.read()
                raise Problem.of(response)
            for line in response.iter_lines():
                yield calls.uploaded(line)

    def jobs(self) -> list[Job]:
        """The jobs under way and the last that ended, the newest first."""
        return self._do(calls.jobs())

    def job(self, id: str) -> Job:
        """How a job stands."""
        return self._do(calls.job(id))

    def cancel(self, id: str) -> Job:
        """Ends a job."""
        return self._do(calls.cancel(id))

    def wait(self, job: Job) -> Job:
        """Returns when a job is done, and raises where it failed."""
        while not job.ended:
            time.sleep(POLL)
            job = self.job(job.id)
        return calls.finished(job)

    def snapshot(self, name: str = "") -> Job:
        """Begins a snapshot; without a name it is called after the time."""
        return self._do(calls.snapshot(name))

    def snapshots(self) -> list[dict[str, Any]]:
        """The snapshots of the collection, by name: "name", "created", "generation" and "passages" of each."""
        return self._do(calls.snapshots())

    def remove_snapshot(self, name: str) -> None:
        """Removes a snapshot."""
        self._do(calls.remove_snapshot(name))

    def settings(self) -> Settings:
        """Synonyms, chosen results and types of fields."""
        return self._do(calls.settings())

    def put_settings(self, settings: Settings) -> Settings:
        """Replaces the settings, whole: to change one entry, change what settings() returns. Searches use them at
        once."""
        return self._do(calls.put_settings(settings))

    def unanswered(self) -> list[Unanswered]:
        """The questions that searches did not answer, those asked most often first; none unless unanswered.keep is
        set."""
        return self._do(calls.unanswered())

    def remove_unanswered(self, question: str | None = None) -> int:
        """Removes a question from the unanswered ones, or all of them; returns how many."""
        return self._do(calls.remove_questions("unanswered", question))

    def answered(self) -> list[Answered]:
        """The questions that searches answered, those asked most often first; none unless answered.keep is set."""
        return self._do(calls.answered())

    def remove_answered(self, question: str | None = None) -> int:
        """Removes a question from the answered ones, or all of them, so that it is suggested no more; returns how
        many."""
        return self._do(calls.remove_questions("answered", question))

    def judge(self, question: str, passage: str, *, answers: bool) -> None:
        """Keeps whether a passage answers a question: a thumb up or down."""
        self._do(calls.judge(question, passage, answers))

    def add_expert(self, name: str) -> Job:
        """Begins to encode all passages with another expert, which then takes part."""
        return self._do(calls.add_expert(name))

    def remove_expert(self, name: str) -> Job:
        """Takes an expert out of the searches, and begins to remove its vectors."""
        return self._do(calls.remove_expert(name))

    def delete_passages(self, **filter: Unpack[Deletion]) -> Job:
        """Begins to delete the passages that a search with this filter finds, or those with ids."""
        return self._do(calls.delete_passages(filter))

    def count_passages(self, **filter: Unpack[Deletion]) -> int:
        """How many passages delete_passages would delete now, as searches see them."""
        return self._do(calls.count_passages(filter))


class AsyncClient(_Options):
    """Client for asyncio. Close it with aclose, or use it in an async with statement."""

    def __init__(
        self, address: str = "http://127.0.0.1:8080", *, key: str = "", attempts: int = 4, timeout: float = 60
    ) -> None:
        super().__init__(address, key=key, attempts=attempts, timeout=timeout)
        self._http = httpx.AsyncClient(**self._options)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._http.aclose()

    async def _do(self, call: Call[T]) -> T:
        for attempt in range(1, self._attempts + 1):
            try:
                return _answer(await self._http.request(call.method, call.path, **_request(call)), call)
            except (Problem, httpx.TransportError) as error:
                wait = calls.pause(error, attempt, call.once)
                if wait is None or attempt == self._attempts:
                    raise
            await asyncio.sleep(wait)
        raise AssertionError("unreachable")

    async def search(self, question: str = "", **options: Unpack[SearchOptions]) -> Answer:
        return await self._do(calls.search(question, options))

    async def search_batch(self, searches: Iterable[str | SearchRequest]) -> list[Answer | Problem]:
        return await self._do(calls.search_batch(searches))

    async def embed(self, texts: list[str], *, expert: str = "base", kind: str = "question") -> NDArray[numpy.float32]:
        return await self._do(calls.embed(texts, expert, kind))

    async def experts(self) -> list[Expert]:
        return await self._do(calls.experts())

    async def suggest(self, typed: str, *, limit: int | None = None) -> list[Suggestion]:
        return await self._do(calls.suggest(typed, limit))

    async def limits(self) -> dict[str, Any]:
        return await self._do(calls.limits())

    async def passage(self, id: str) -> Passage:
        return await self._do(calls.passage(id))

    async def put(
        self, passage: Passage, *, if_version: str | None = None, if_absent: bool = False, visible: bool = False
    ) -> Written:
        return await self._do(calls.put(passage, if_version, if_absent, visible))

    async def delete(self, id: str, *, if_version: str | None = None, visible: bool = False) -> Written:
        return await self._do(calls.delete(id, if_version, visible))

    async def passages(self) -> AsyncIterator[Passage]:
        page, after = await self._do(calls.passages(""))
        while True:
            for p in page:
                yield p
            if not after:
                return
            page, after = await self._do(calls.passages(after))

    async def put_document(
        self,
        id: str,
        file: bytes,
        *,
        content_type: str = "",
        encoding: str = "",
        title: str = "",
        source: str = "",
        tags: Iterable[str] = (),
        metadata: dict[str, Any] | None = None,
        if_version: str | None = None,
        if_absent: bool = False,
        visible: bool = False,
    ) -> Written:
        about: dict[str, Any] = {"content_type": content_type, "encoding": encoding, "title": title, "source": source}
        about |= {"tags": tags, "metadata": metadata}
        return await self._do(calls.put_document(id, file, about, if_version, if_absent, visible))

    async def document(self, id: str) -> Document:
        return await self._do(calls.document(id))

    async def original(self, id: str) -> bytes:
        """The file that a document was read from; the problem no_original where it is not kept."""
        return await self._do(calls.original(id))

    async def delete_document(self, id: str, *, if_version: str | None = None, visible: bool = False) -> Written:
        return await self._do(calls.delete_document(id, if_version, visible))

    async def add_site(
        self,
        url: str,
        *,
        site: bool = False,
        tags: list[str] | None = None,
        include: list[str] | None = None,
        exclude: list[str] | None = None,
        depth: int = 0,
        pages: int = 0,
    ) -> Job:
        about = {"include": include, "exclude": exclude, "depth": depth, "pages": pages}
        return await self._do(calls.add_site(url, site, tags or [], about))

    async def documents(self, *, prefix: str = "", match: str = "") -> AsyncIterator[Document]:
        page, after = await self._do(calls.documents(prefix, match, ""))
        while True:
            for d in page:
                yield d
            if not after:
                return
            page, after = await self._do(calls.documents(prefix, match, after))

    async def upload(
        self, passages: Iterable[Passage | dict[str, Any]], *, visible: bool = False
    ) -> AsyncIterator[Written]:
        async def lines() -> AsyncIterator[bytes]:
            for line in calls.upload_lines(passages):
                yield line

        async with _upload(self._http, lines(), visible) as response:
            if response.status_code >= 300 and not _lines_follow(response):
                await response.aread()
                raise Problem.of(response)
            async for line in response.aiter_lines():
                yield calls.uploaded(line)

    async def jobs(self) -> list[Job]:
        return await self._do(calls.jobs())

    async def job(self, id: str) -> Job:
        return await self._do(calls.job(id))

    async def cancel(self, id: str) -> Job:
        return await self._do(calls.cancel(id))

    async def wait(self, job: Job) -> Job:
        while not job.ended:
            await asyncio.sleep(POLL)
            job = await self.job(job.id)
        return calls.finished(job)

    async def snapshot(self, name: str = "") -> Job:
        return await self._do(calls.snapshot(name))

    async def snapshots(self) -> list[dict[str, Any]]:
        return await self._do(calls.snapshots())

    async def remove_snapshot(self, name: str) -> None:
        await self._do(calls.remove_snapshot(name))

    async def settings(self) -> Settings:
        return await self._do(calls.settings())

    async def put_settings(self, settings: Settings) -> Settings:
        return await self._do(calls.put_settings(settings))

    async def unanswered(self) -> list[Unanswered]:
        return await self._do(calls.unanswered())

    async def remove_unanswered(self, question: str | None = None) -> int:
        return await self._do(calls.remove_questions("unanswered", question))

    async def answered(self) -> list[Answered]:
        return await self._do(calls.answered())

    async def remove_answered(self, question: str | None = None) -> int:
        return await self._do(calls.remove_questions("answered", question))

    async def judge(self, question: str, passage: str, *, answers: bool) -> None:
        await self._do(calls.judge(question, passage, answers))

    async def add_expert(self, name: str) -> Job:
        return await self._do(calls.add_expert(name))

    async def remove_expert(self, name: str) -> Job:
        return await self._do(calls.remove_expert(name))

    async def delete_passages(self, **filter: Unpack[Deletion]) -> Job:
        return await self._do(calls.delete_passages(filter))

    async def count_passages(self, **filter: Unpack[Deletion]) -> int:
        return await self._do(calls.count_passages(filter))
