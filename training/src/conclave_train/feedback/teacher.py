"""How well each passage explains a question's answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from conclave_train.bundle.manifest import read_manifest
from conclave_train.data.records import Domain
from conclave_train.errors import Interrupted, TrainingError
from conclave_train.feedback.refit import Refit
from conclave_train.fit.encode import Device, chunks
from conclave_train.fit.state import RunFolder
from conclave_train.model.checkpoint import Checkpoint
from conclave_train.model.delta import read_delta
from conclave_train.progress import Progress
from conclave_train.reading.loop import read
from conclave_train.reading.loss import span_nll
from conclave_train.reading.model import Reader, load_reader
from conclave_train.reading.pairs import LONGEST, Pair, Pairs
from conclave_train.settings import EndToEndSettings

Teacher = Callable[
    [NDArray[np.int64]], Tensor
]  # places [Q,K] of passages → log p(a|q,z) [Q,K], -inf where z has no answer


def alike(holders: Sequence[Sequence[int]]) -> Teacher:
    """Without a reader: every passage that holds an answer explains it alike."""

    def teach(places: NDArray[np.int64]) -> Tensor:
        return torch.tensor([[0.0 if p in held else -torch.inf for p in row] for row, held in _rows(places, holders)])

    return teach


class ReaderTeacher:
    """Asks a reader, of the passages that hold an answer: in the others it can mark none.

    What it said of a question and a passage is kept in the run's folder until the
    reader learns; a run that is stopped goes on from there.
    """

    def __init__(
        self, reader: Reader, pairs: Pairs, answers: Sequence[Sequence[str]], holders: Sequence[Sequence[int]],
        device: Device, settings: EndToEndSettings, folder: RunFolder, stop: Callable[[], bool], quiet: bool,
    ) -> None:  # fmt: skip
        self.reader, self.pairs, self.answers, self.holders = reader.to(device.name).eval(), pairs, answers, holders
        self.device, self.s, self.folder, self.stop, self.quiet = device, settings, folder, stop, quiet
        self.longest = min(LONGEST, reader.tower.config.max_position_embeddings)
        self._forget(0)

    def _forget(self, rounds: int) -> None:
        """Go on with what the reader said after it learned from so many rounds."""
        self.kept = f"said-{rounds + 1}.pt"
        self.said: dict[tuple[int, int], float] = self.folder.load_part(self.kept) or {}

    def learn(self, rounds: int, places: NDArray[np.int64]) -> None:
        """The reader learns from the passages that were found in the last of ``rounds`` rounds."""
        Refit(
            self.reader, self.pairs, self.answers, self.holders, places, self.longest, self.s, self.device,
            self.folder.within(f"reader-{rounds}"), self.stop, self.quiet,
        ).fit()  # fmt: skip
        self._forget(rounds)

    def __call__(self, places: NDArray[np.int64]) -> Tensor:
        wanted = [(i, int(p)) for i, (row, held) in enumerate(_rows(places, self.holders)) for p in row if p in held]
        missing = [key for key in wanted if key not in self.said]
        with Progress("reading", len(missing), "passages", quiet=self.quiet, saves=True) as bar:
            for a in range(0, len(missing), 32 * self.s.chunk):
                if self.stop():
                    raise Interrupted(f"stopped after {a} of {len(missing)} passages read; the same command goes on")
                some = missing[a : a + 32 * self.s.chunk]
                made = [self.pairs.pair(i, p, self.longest, self.answers[i]) for i, p in some]
                values = likelihoods(self.reader, made, self.pairs, self.device, self.s.chunk)
                self.said |= dict(zip(some, values.tolist(), strict=True))
                self.folder.save_part(self.kept, self.said)
                bar.tick(len(some))
        return torch.tensor([[self.said.get((i, int(p)), -torch.inf) for p in row] for i, row in enumerate(places)])


def likelihoods(reader: Reader, made: Sequence[Pair], pairs: Pairs, device: Device, size: int) -> Tensor:
    """log p(a|q,z) [N]: that the passage answers, times Σ P_start·P_end over the answer's places; -inf without one.

    A span's likelihood within one passage alone would not know whether the
    passage is about the question: P_select does. A long answer is one span, so
    its length does not lower it.
    """
    out = torch.full((len(made),), -torch.inf)
    readable = [i for i, pair in enumerate(made) if pair.spans]
    with torch.inference_mode():
        for part in chunks([len(made[i].ids) for i in readable], size):
            chosen = [readable[i] for i in part]
            start, end, select = read(reader, [made[i] for i in chosen], pairs.tokens, device)
            spans = torch.stack([span_nll(s, e, made[i].spans) for i, s, e in zip(chosen, start, end, strict=True)])
            out[chosen] = (F.logsigmoid(select) - spans).cpu()
    return out


@dataclass(frozen=True)
class Given:
    """The reader of a bundle, the tokens of a question that it reads, and the domains that it was trained on."""

    reader: Reader
    question_tokens: int
    trained_on: str


def open_reader(path: Path, checkpoint: Checkpoint, domains: Sequence[Domain]) -> Given:
    """The reader of a bundle.

    One that learned from the same questions' marked passages would hand those
    marks on: it is refused.
    """
    values = read_manifest(path)
    if values.get("kind") != "reader":
        raise TrainingError(f"--reader: {path} is {values.get('kind') or 'a bi-encoder'}, and a reader is needed")
    notes = values["lineage"]["notes"]
    learned = set(str(notes.get("trained on", "")).split(", "))
    seen = "\n".join(str(v) for v in notes.values())
    for domain in domains:
        whole = bool(domain.sources) and all(s.sha256 in seen for s in domain.sources)
        if domain.name in learned or whole:
            raise TrainingError(
                f"--reader: {path} was trained on {domain.name} itself, and would only hand on which passages were "
                "marked there: take one that was trained on other data, or give none"
            )
    reader = load_reader(checkpoint, read_delta(path / "delta.safetensors"))
    return Given(reader, int(values["max_tokens"]["question"]), str(notes.get("trained on", "")))


def _rows(places: NDArray[np.int64], holders: Sequence[Sequence[int]]) -> list[tuple[list[int], set[int]]]:
    return [([int(p) for p in row], set(held)) for row, held in zip(places, holders, strict=True)]
