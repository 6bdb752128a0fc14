"""Which hard negatives a run uses in which epoch."""

from __future__ import annotations

from conclave_train.fit.batches import Batches
from conclave_train.fit.encode import Device, encode_all
from conclave_train.fit.loop import Texts
from conclave_train.fit.state import RunFolder
from conclave_train.job import Prepared
from conclave_train.model.tower import BiEncoder
from conclave_train.progress import Progress
from conclave_train.retrieval.negatives import Filter, Negatives, from_bm25, from_vectors, given, merge
from conclave_train.settings import ExpertSettings


class Miner:
    """Negatives by epoch: BM25's or the data's first, the model's own mixed in from the epochs that ask for it.

    Every list is kept in the run's folder, so that a resumed run uses the same.
    """

    def __init__(
        self,
        prepared: Prepared,
        settings: ExpertSettings,
        texts: Texts,
        device: Device,
        folder: RunFolder,
        quiet: bool,
    ) -> None:
        self.prepared, self.s, self.texts, self.device = prepared, settings, texts, device
        self.folder, self.quiet = folder, quiet
        self.filter = Filter(prepared.domain, settings.answer_filter)
        self.epochs = settings.mining_epochs()
        self._cached: tuple[int, Batches] | None = None

    def first(self) -> Negatives:
        """The negatives before any mining with the model."""
        questions = self.prepared.train
        kept: Negatives | None = self.folder.read_json("negatives-first.json")
        if kept is not None:
            return kept
        named = given(self.prepared.domain, questions)
        found: Negatives = [[] for _ in questions]
        if self.s.negatives in ("auto", "given"):
            found = named
        missing = [i for i, negatives in enumerate(found) if not negatives]
        if self.s.negatives in ("auto", "bm25") and self.s.hard and missing:
            with Progress("BM25 negatives", len(missing), "questions", quiet=self.quiet) as bar:
                mined = from_bm25(
                    self.prepared.domain, [questions[i] for i in missing], self.filter, self.s.depth, bar.tick
                )
            for i, negatives in zip(missing, mined, strict=True):
                found[i] = negatives
        self.folder.write_json("negatives-first.json", found)
        return found

    def batches(self, epoch: int, model: BiEncoder) -> Batches:
        """The batches of ``epoch``, mining first where it is time to."""
        latest = max((e for e in self.epochs if e <= epoch), default=-1)
        if self._cached is None or self._cached[0] != latest:
            negatives = self.first()
            for e in sorted(e for e in self.epochs if e <= latest):
                negatives = self._mined(e, negatives, model)
            groups = self.prepared.groups if self.s.batches == "by-domain" else None
            self._cached = latest, Batches(
                self.prepared.domain, self.prepared.train, negatives,
                size=self.s.batch, hard=self.s.hard, seed=self.s.seed, groups=groups,
            )  # fmt: skip
        return self._cached[1]

    def _mined(self, epoch: int, before: Negatives, model: BiEncoder) -> Negatives:
        name = f"negatives-epoch-{epoch + 1}.json"
        kept: Negatives | None = self.folder.read_json(name)
        if kept is None:
            total = len(self.texts.questions) + len(self.texts.passages)
            with Progress("mining negatives", total, "texts", quiet=self.quiet) as bar:
                q = encode_all(model.question, self.texts.questions, self.texts.tokens, self.device, tick=bar.tick)
                p = encode_all(model.passage, self.texts.passages, self.texts.tokens, self.device, tick=bar.tick)
            own = from_vectors(
                self.prepared.domain, self.prepared.train, (q, p), self.filter, self.s.depth, self.s.ceiling
            )
            kept = merge(own, before, self.s.depth)
            self.folder.write_json(name, kept)
        return kept
