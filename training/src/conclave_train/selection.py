"""Measuring a model on held-back training questions, to choose among its epochs."""

from __future__ import annotations

from collections.abc import Callable

from conclave_train.data.records import Question
from conclave_train.data.split import share
from conclave_train.fit.encode import Device, encode_all
from conclave_train.job import Prepared
from conclave_train.model.tower import BiEncoder
from conclave_train.progress import Progress
from conclave_train.retrieval.accuracy import accuracy, first_ranks
from conclave_train.retrieval.bm25 import BM25


class Selection:
    """The questions, and the passages they are searched in.

    All of the domain's passages where they are few; else every positive, what
    BM25 finds for the questions, and others at random by a hash. Accuracies over
    such a pool are higher than over all passages; they compare checkpoints of
    one run.
    """

    def __init__(self, prepared: Prepared, questions: list[Question], most: int) -> None:
        self.prepared, self.questions = prepared, questions
        passages = prepared.domain.passages
        self.pool = list(range(len(passages)))
        if len(passages) > most:
            needed = {place for places in prepared.places(questions) for place in places}
            index = BM25(passages)
            for question in questions:
                if len(needed) < most:
                    needed.update(index.search(question.text, 20))
            others = sorted((i for i in self.pool if i not in needed), key=lambda i: share(passages[i].id, "pool"))
            self.pool = sorted([*needed, *others[: max(0, most - len(needed))]])
        back = {place: i for i, place in enumerate(self.pool)}
        self.positives = [[back[p] for p in places] for places in prepared.places(questions)]
        tokens = prepared.checkpoint.tokens
        longest = prepared.checkpoint.max_tokens
        self.question_ids = tokens.questions([q.text for q in questions], longest[0])
        self.passage_ids = tokens.passages([passages[i] for i in self.pool], prepared.template, longest[1])

    def describe(self) -> str:
        """What the numbers are over, for the card."""
        return (
            f"{len(self.questions):,} training questions kept back, searched in {len(self.pool):,} passages "
            f"of {len(self.prepared.domain.passages):,}. They chose the checkpoint, so expect less on new questions."
        )

    def measure(
        self, model: BiEncoder, device: Device, label: str = "measuring", quiet: bool = False
    ) -> dict[str, float]:
        """``score`` (the mean of top-1 and top-20), and top-k accuracies and MRR@10 in percent."""
        tokens = self.prepared.checkpoint.tokens
        with Progress(label, len(self.passage_ids) + len(self.question_ids), "texts", quiet=quiet) as bar:
            q = encode_all(model.question, self.question_ids, tokens, device, tick=bar.tick)
            p = encode_all(model.passage, self.passage_ids, tokens, device, tick=bar.tick)
        found = accuracy(first_ranks(q, p, self.positives))
        return {"score": (found["top-1"] + found["top-20"]) / 2, **found}

    def scorer(self, model: BiEncoder, device: Device, quiet: bool) -> Callable[[], dict[str, float]]:
        """:meth:`measure` for the training loop."""
        return lambda: self.measure(model, device, quiet=quiet)
