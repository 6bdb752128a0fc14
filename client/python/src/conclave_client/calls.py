"""Every request of the interface, and how its answer is read; client.py sends them."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import quote

import httpx

from .decode import read
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


@dataclass
class Call(Generic[T]):
    """A request. With once it is not sent again when it may have arrived, since it would do something twice."""

    method: str
    path: str
    read: Callable[[httpx.Response], T]
    json: Any = None
    content: bytes | None = None
    params: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    once: bool = False


def pause(error: Exception, attempt: int, once: bool) -> float | None:
    """How many seconds to wait before a request that ended with error is sent again; None: it is not."""
    seconds = 0.1 * 2 ** min(attempt, 5)
    if isinstance(error, Problem):
        # What is refused for now was not begun.
        if error.status not in (429, 503):
            return None
        seconds = error.retry_after or seconds
    elif once or not isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError):
        return None
    # A little later, each caller otherwise, so that they do not all come back at once.
    return float(seconds * random.uniform(1, 1.2))


def _as(wanted: Any) -> Callable[[httpx.Response], Any]:
    return lambda response: read(wanted, response.json())


def _items(name: str, wanted: Any) -> Callable[[httpx.Response], Any]:
    return lambda response: [read(wanted, item) for item in response.json()[name]]


def search(question: str, options: SearchOptions) -> Call[Answer]:
    asked: dict[str, Any] = {**options}
    if question and asked.get("messages"):
        asked["messages"] = [*asked["messages"], {"role": "user", "content": question}]
    elif question:
        asked["question"] = question
    return Call("POST", "/v1/search", _as(Answer), asked)


def search_batch(searches: Iterable[str | SearchRequest]) -> Call[list[Answer | Problem]]:
    def answers(response: httpx.Response) -> list[Answer | Problem]:
        return [Problem(a["status"], a) if "code" in a else read(Answer, a) for a in response.json()["answers"]]

    asked = [{"question": s} if isinstance(s, str) else s for s in searches]
    return Call("POST", "/v1/search/batch", answers, {"searches": asked})


def embed(texts: list[str], expert: str, kind: str) -> Call[NDArray[numpy.float32]]:
    def vectors(response: httpx.Response) -> NDArray[numpy.float32]:
        import numpy

        loaded: NDArray[numpy.float32] = numpy.load(io.BytesIO(response.content), allow_pickle=False)
        return loaded

    asked = {"expert": expert, "input": texts, "kind": kind}
    return Call("POST", "/v1/embed", vectors, asked, headers={"accept": "application/x-npy, application/problem+json"})


def experts() -> Call[list[Expert]]:
    return Call("GET", "/v1/experts", _items("experts", Expert))


def limits() -> Call[dict[str, Any]]:
    return Call("GET", "/v1/limits", lambda response: dict(response.json()))


def _passage_path(id: str) -> str:
    return "/v1/passages/" + quote(id, safe="")


def passage(id: str) -> Call[Passage]:
    def stored(response: httpx.Response) -> Passage:
        found: Passage = read(Passage, response.json())
        # A proxy or a compression may mark it.
        found.version = response.headers.get("etag", "").removeprefix("W/").strip('"').removesuffix("-gzip")
        return found

    return Call("GET", _passage_path(id), stored)


def _conditions(if_version: str | None, if_absent: bool, visible: bool) -> dict[str, Any]:
    headers = {}
    if if_version is not None:
        headers["if-match"] = f'"{if_version}"'
    if if_absent:
        headers["if-none-match"] = "*"
    # With a condition it would, sent again, find its own change.
    return {"headers": headers, "params": {"refresh": "wait"} if visible else {}, "once": bool(headers)}


def put(passage: Passage, if_version: str | None, if_absent: bool, visible: bool) -> Call[Written]:
    sent = passage.to_json()
    return Call("PUT", _passage_path(passage.id), _as(Written), sent, **_conditions(if_version, if_absent, visible))


def delete(id: str, if_version: str | None, visible: bool) -> Call[Written]:
    return Call("DELETE", _passage_path(id), _as(Written), **_conditions(if_version, False, visible))


def passages(after: str) -> Call[tuple[list[Passage], str]]:
    def page(response: httpx.Response) -> tuple[list[Passage], str]:
        body = response.json()
        return [read(Passage, p) for p in body["passages"]], body.get("next", "")

    return Call("GET", "/v1/passages", page, params={"after": after} if after else {})


def _document_path(id: str) -> str:
    return "/v1/documents/" + quote(id, safe="")


def put_document(
    id: str, file: bytes, about: dict[str, Any], if_version: str | None, if_absent: bool, visible: bool
) -> Call[Written]:
    asked = _conditions(if_version, if_absent, visible)
    asked["headers"]["content-type"] = about.pop("content_type", None) or "application/octet-stream"
    for name, value in about.items():
        if value:
            asked["params"][name] = ",".join(value) if name == "tags" else value
    if about.get("metadata"):
        asked["params"]["metadata"] = json.dumps(about["metadata"])
    asked["once"] = if_version is not None or if_absent
    return Call("PUT", _document_path(id), _as(Written), content=file, **asked)


def document(id: str) -> Call[Document]:
    return Call("GET", _document_path(id), _as(Document), params={"text": "true"})


def original(id: str) -> Call[bytes]:
    return Call("GET", "/v1/originals/" + quote(id, safe=""), lambda response: response.content)


def delete_document(id: str, if_version: str | None, visible: bool) -> Call[Written]:
    return Call("DELETE", _document_path(id), _as(Written), **_conditions(if_version, False, visible))


def add_site(url: str, whole: bool, tags: list[str], about: dict[str, Any]) -> Call[Job]:
    params = {"tags": ",".join(tags)} if tags else {}
    body = {"url": url, "site": whole} | {name: value for name, value in about.items() if value}
    return Call("POST", "/v1/documents", _as(Job), body, params=params, once=True)


def documents(prefix: str, match: str, after: str) -> Call[tuple[list[Document], str]]:
    def page(response: httpx.Response) -> tuple[list[Document], str]:
        body = response.json()
        return [read(Document, d) for d in body["documents"]], body.get("next", "")

    params = {name: value for name, value in {"prefix": prefix, "q": match, "after": after}.items() if value}
    return Call("GET", "/v1/documents", page, params=params)


def suggest(typed: str, limit: int | None) -> Call[list[Suggestion]]:
    params = {"q": typed} | ({} if limit is None else {"limit": str(limit)})
    return Call("GET", "/v1/suggest", _items("suggestions", Suggestion), params=params)


def upload_lines(passages: Iterable[Passage | dict[str, Any]]) -> Iterator[bytes]:
    """The body of an upload."""
    for p in passages:
        yield json.dumps(p.to_json() if isinstance(p, Passage) else p).encode() + b"\n"


def uploaded(line: str) -> Written:
    """A line of the answer to an upload, or raises the problem that ended it."""
    body = json.loads(line)
    if "code" in body:
        raise Problem(body["status"], body | {"detail": f"line {body['line']}: {body['detail']}"})
    written: Written = read(Written, body)
    return written


def job(id: str) -> Call[Job]:
    return Call("GET", "/v1/jobs/" + quote(id, safe=""), _as(Job))


def jobs() -> Call[list[Job]]:
    return Call("GET", "/v1/jobs", _items("jobs", Job))


def cancel(id: str) -> Call[Job]:
    return Call("DELETE", "/v1/jobs/" + quote(id, safe=""), _as(Job))


def snapshot(name: str) -> Call[Job]:
    return Call("POST", "/v1/admin/snapshots", _as(Job), {"name": name} if name else {}, once=True)


def snapshots() -> Call[list[dict[str, Any]]]:
    return Call("GET", "/v1/admin/snapshots", lambda response: list(response.json()["snapshots"]))


def remove_snapshot(name: str) -> Call[None]:
    return Call("DELETE", "/v1/admin/snapshots/" + quote(name, safe=""), lambda _: None)


def settings() -> Call[Settings]:
    return Call("GET", "/v1/admin/settings", _as(Settings))


def put_settings(settings: Settings) -> Call[Settings]:
    body = {"synonyms": settings.synonyms, "overrides": settings.overrides, "fields": settings.fields}
    return Call("PUT", "/v1/admin/settings", _as(Settings), body)


def unanswered() -> Call[list[Unanswered]]:
    return Call("GET", "/v1/admin/unanswered", _items("questions", Unanswered))


def answered() -> Call[list[Answered]]:
    return Call("GET", "/v1/admin/answered", _items("questions", Answered))


def remove_questions(which: str, question: str | None) -> Call[int]:
    params = {} if question is None else {"question": question}
    return Call("DELETE", "/v1/admin/" + which, lambda response: int(response.json()["removed"]), params=params)


def judge(question: str, passage: str, answers: bool) -> Call[None]:
    body = {"question": question, "passage": passage, "grade": int(answers)}
    return Call("POST", "/v1/judgments", lambda _: None, body)


def add_expert(name: str) -> Call[Job]:
    return Call("POST", "/v1/admin/experts", _as(Job), {"name": name}, once=True)


def remove_expert(name: str) -> Call[Job]:
    return Call("DELETE", "/v1/admin/experts/" + quote(name, safe=""), _as(Job), once=True)


def delete_passages(filter: Deletion) -> Call[Job]:
    return Call("DELETE", "/v1/passages", _as(Job), params=_deletion(filter), once=True)


def count_passages(filter: Deletion) -> Call[int]:
    params = _deletion(filter) | {"dry_run": "true"}
    return Call("DELETE", "/v1/passages", lambda response: int(response.json()["passages"]), params=params)


def _deletion(filter: Deletion) -> dict[str, str]:
    params = {name: ",".join(tags) for name, tags in filter.items() if isinstance(tags, list) and tags}
    if filter.get("filter"):
        params["filter"] = json.dumps(filter["filter"])
    return params


def finished(job: Job) -> Job:
    """A job that has ended, or raises why it is not done."""
    if job.state != "done":
        raise RuntimeError(f"job {job.id} is {job.state}: {job.error}")
    return job
