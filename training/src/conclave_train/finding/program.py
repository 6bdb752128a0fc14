"""Asking a collection on disk, by the program ``conclave``."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from conclave_train.data.records import Passage
from conclave_train.errors import Interrupted, TrainingError
from conclave_train.finding.hits import Hit, Ranking
from conclave_train.progress import say

LINES_OF_AN_ERROR = 5


@dataclass(frozen=True)
class Program:
    """The program, and what stops it."""

    path: str = "conclave"
    stop: Callable[[], bool] = lambda: False

    def found(self) -> str:
        """The program's file; an error where there is none."""
        file = shutil.which(self.path)
        if file is None:
            raise TrainingError(
                f"there is no program {self.path!r}, which finds the passages: give --conclave PROGRAM, the address of "
                "a server that has these passages with --url, or --way feedback, which needs neither"
            )
        return file

    def run(self, *arguments: str | Path) -> None:
        """Run it to its end; its last lines are the error where it fails."""
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
            command = [self.found(), *map(str, arguments)]
            with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT) as process:
                while process.poll() is None:
                    if self.stop():
                        process.terminate()
                        process.wait()
                        raise Interrupted(f"stopped during conclave {arguments[0]}; the same command goes on")
                    time.sleep(0.05)
            if self.stop() and process.returncode:  # Ctrl-C reached it too
                raise Interrupted(f"stopped during conclave {arguments[0]}; the same command goes on")
            if process.returncode:
                said.seek(0)
                last = [line.strip() for line in said.read().splitlines() if line.strip()][-LINES_OF_AN_ERROR:]
                raise TrainingError(f"{' '.join(command[:2])} failed: " + "; ".join(last))


@dataclass(frozen=True)
class Collection:
    """A collection in ``folder``; None: one that :meth:`make` makes in ``work``, where the program's files are.

    Experts that the cache lacks are looked for in ``bundles``.
    """

    program: Program
    folder: Path | None
    work: Path
    base: Path  # the checkpoint that experts are merged with
    bundles: Path | None = None
    quiet: bool = False

    @property
    def place(self) -> Path:
        """The collection's folder."""
        return self.folder or self.work / "collection"

    def make(self, passages: Sequence[Passage]) -> None:
        """Index ``passages`` with the default's experts, where no folder was given and none is made yet."""
        if self.folder:
            return
        text = "".join(json.dumps({"id": p.id, "title": p.title, "text": p.text}) + "\n" for p in passages)
        made, sum = self.work / "collection.made", hashlib.sha256(text.encode()).hexdigest()
        if made.exists() and made.read_text("utf-8") == sum:
            return
        self.work.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(self.place, ignore_errors=True)
        lines = self.work / "passages.jsonl"
        lines.write_text(text, "utf-8")
        if not self.quiet:
            say(
                f"indexing {len(passages):,} passages with the default's experts (some 15 a second on two cores); "
                "where they are indexed already, give --collection"
            )
        self.program.run("index", "--collection", self.place, "--in", lines)
        lines.unlink()
        made.write_text(sum, "utf-8")

    def rankings(self, questions: Sequence[str], depth: int) -> list[Ranking]:
        """What the collection's own method answers."""
        self.work.mkdir(parents=True, exist_ok=True)
        asked, runs = self.work / "asked.jsonl", self.work / "rankings"
        asked.write_text(
            # A question is measured by its answers; here nothing is, so any does.
            "".join(json.dumps({"id": f"q{i}", "question": q, "answers": [q]}) + "\n" for i, q in enumerate(questions)),
            "utf-8",
        )
        shutil.rmtree(runs, ignore_errors=True)
        self.program.run(
            "evaluate", "--collection", self.place, "--questions", f"asked={asked}", "--fusions", "none",
            "--alone=false", "--also", "found: auto", "--runs", runs, "--run-forms", "trec", "--depth", str(depth),
            "--timed", "0", *(("--bundles", self.bundles) if self.bundles else ()),
        )  # fmt: skip
        return read_trec(runs / "asked" / "found.trec", len(questions))

    def with_expert(self, bundle: Path, name: str) -> Collection:
        """A copy by hard links that has the expert too."""
        copy, merged = self.work / "with-expert", self.work / "merged"
        for folder in (copy, merged):
            shutil.rmtree(folder, ignore_errors=True)
        merged.mkdir(parents=True)
        self.program.run("models", "import", bundle, "--base", self.base, "--out", merged / name, "--int8")
        self.program.run("snapshot", "--collection", self.place, "--out", copy)
        if not self.quiet:
            say(f"adding {name} to a copy of the collection, to measure the whole answer")
        self.program.run("index", "--collection", copy, "--add-expert", name, "--bundles", merged)
        return Collection(self.program, copy, self.work / "with", self.base, merged, self.quiet)

    def describe(self) -> str:
        """Who was asked, for the card."""
        return "conclave, by the collection's own method"

    def identity(self) -> str:
        """Who is asked."""
        return f"collection {self.folder.resolve()}" if self.folder else "a collection that is made"


def read_trec(path: Path, count: int) -> list[Ranking]:
    """The rankings of questions q0, q1, …: a TREC file's lines are ``question Q0 passage rank score run``."""
    out: list[Ranking] = [[] for _ in range(count)]
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            question, _, rest = line.rstrip("\n").split(" ", 2)
            passage, _, score, _ = rest.rsplit(" ", 3)
            out[int(question[1:])].append(Hit(passage, float(score)))
    return out
