"""Asking a server over HTTP."""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from conclave_train.errors import Interrupted, TrainingError
from conclave_train.finding.hits import Hit, Ranking
from conclave_train.progress import Progress

TRIES = 6
SECONDS = 120


@dataclass(frozen=True)
class Server:
    """The server at the address ``url``; its key, where it asks for one, is $CONCLAVE_KEY."""

    url: str
    stop: Callable[[], bool] = lambda: False
    quiet: bool = False

    def rankings(self, questions: Sequence[str], depth: int) -> list[Ranking]:
        """What the server's own method answers, at most as deep as it allows."""
        limits = self._ask("/v1/limits", None)
        k, size = min(depth, int(limits["k"])), int(limits["batch"])
        out: list[Ranking] = []
        with Progress("finding passages", len(questions), "questions", quiet=self.quiet) as bar:
            for a in range(0, len(questions), size):
                if self.stop():
                    raise Interrupted(f"stopped after {a} of {len(questions)} questions; the same command goes on")
                some = [{"question": q, "k": k, "fields": []} for q in questions[a : a + size]]
                answers = self._ask("/v1/search/batch", {"searches": some})["answers"]
                for question, answer in zip(questions[a : a + size], answers, strict=True):
                    if "code" in answer:
                        raise TrainingError(f"{self.url}: {answer.get('detail', answer['code'])} (of {question!r})")
                    out.append([Hit(r["id"], float(r["score"])) for r in answer["results"]])
                bar.tick(len(some))
        return out

    def vectors(self, expert: str, kind: str, texts: Sequence[str]) -> list[list[float]]:
        """An expert's vectors of texts, in their order; kind is "question" or "passage"."""
        size = int(self._ask("/v1/limits", None)["embed_inputs"])
        out: list[list[float]] = []
        with Progress(f"encoding {kind}s", len(texts), "texts", quiet=self.quiet) as bar:
            for a in range(0, len(texts), size):
                if self.stop():
                    raise Interrupted(
                        f"stopped after {a} of {len(texts)} texts; the same command begins with them again"
                    )
                some = list(texts[a : a + size])
                out += self._ask("/v1/embed", {"expert": expert, "kind": kind, "input": some})["embeddings"]
                bar.tick(len(some))
        return out

    def describe(self) -> str:
        """Who was asked, for the card."""
        return "a server of conclave, by its own method"

    def identity(self) -> str:
        """Who is asked."""
        return f"server {self.url}"

    def _ask(self, path: str, body: Any) -> Any:
        """The decoded answer; a server that is busy is asked again."""
        request = urllib.request.Request(self.url.rstrip("/") + path)
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        if key := os.environ.get("CONCLAVE_KEY"):
            request.add_header("Authorization", f"Bearer {key}")
        for left in reversed(range(TRIES)):
            try:
                with urllib.request.urlopen(request, timeout=SECONDS) as response:
                    return json.load(response)
            except urllib.error.HTTPError as error:
                said = error.read(4096).decode("utf-8", "replace")
                if error.code not in (429, 503) or not left:
                    raise TrainingError(f"{self.url}{path}: status {error.code}: {_detail(said)}") from error
                time.sleep(min(30.0, float(error.headers.get("Retry-After") or 1)))
            except (OSError, ValueError) as error:
                raise TrainingError(
                    f"--url: {self.url} gives no answer of conclave ({error}): is the server running?"
                ) from error
        raise AssertionError


def _detail(said: str) -> str:
    """What a problem's body says."""
    try:
        return str(json.loads(said).get("detail") or said)
    except (ValueError, AttributeError):
        return said[:200]
