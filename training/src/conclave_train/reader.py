"""Making a reader: questions with their answers in, a delta of the base and two heads out (DPR, section 6.1)."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path

from conclave_train.bundle.card import Card
from conclave_train.bundle.manifest import Folder, ReaderManifest
from conclave_train.data.records import Domain, Question
from conclave_train.errors import TrainingError
from conclave_train.fit.state import RunFolder
from conclave_train.job import Task, divide, read_shared, with_dropout
from conclave_train.model.checkpoint import Checkpoint
from conclave_train.model.delta import Delta
from conclave_train.progress import say
from conclave_train.reading.groups import Groups, hard_negatives
from conclave_train.reading.loop import ReaderLoop
from conclave_train.reading.measure import METRICS, measure
from conclave_train.reading.model import load_reader, new_reader, reader_delta
from conclave_train.reading.pairs import LONGEST, SPAN, TITLE, Pairs
from conclave_train.settings import ReaderSettings

CHANCE = 52.0  # percent: an AUROC below it is taken for that of a coin


@dataclass(frozen=True)
class ReaderJob(Task):
    """One reader to be made."""

    settings: ReaderSettings = field(default_factory=ReaderSettings)


@dataclass(frozen=True)
class _Data:
    """The data, split: ``held`` is never trained on and chooses nothing."""

    checkpoint: Checkpoint
    whole: Domain
    train: list[Question]
    held: list[Question]
    longest: int


def train_reader(job: ReaderJob) -> Path:
    """Find negatives, train, compress, measure, write the bundle; its folder."""
    data = _prepare(job)
    reader = new_reader(data.checkpoint, job.settings.seed, job.settings.freeze)
    folder = RunFolder(job.run, job.identity(data.checkpoint, data.whole, job.settings, kind="reader"), job.fresh)
    if not job.quiet:
        say(
            f"{job.name}: {len(data.train):,} training questions, {sum(bool(q.answers) for q in data.train):,} with "
            f"answers, {len(data.held):,} kept back, {len(data.whole.passages):,} passages"
        )
    train, held = _groups(job, data, folder)
    ReaderLoop(reader, train, job.settings, job.device, folder, job.stop, job.quiet).fit()
    measured: dict[str, dict[str, float]] = {}

    def row(name: str) -> None:
        if data.held:
            measured[name] = measure(reader, held, job.device, job.settings.chunk, "measuring", job.quiet)

    row("after training")
    delta = reader_delta(data.checkpoint, reader.cpu(), job.settings.rank)
    reader = load_reader(data.checkpoint, delta).to(job.device.name)
    row(f"as shipped (rank {job.settings.rank}, fp16)")
    if measured and max(r["auroc"] for r in measured.values()) < CHANCE:
        raise TrainingError(
            f"the reader tells the passages of the {len(data.held)} questions kept back no better than chance: there "
            "is nothing to publish (try more data, more --epochs, another --learning-rate, or --hold-out 0)"
        )
    card = _card(job, data, delta, measured)
    return publish_reader(job, (data.checkpoint, data.whole), delta, card, job.settings.max_question_tokens)


def _prepare(job: ReaderJob) -> _Data:
    """Read the base, hold questions back; what can fail early does."""
    s = job.settings
    s.check()
    whole = job.whole()
    checkpoint = with_dropout(read_shared(job.base, "reader"), s.dropout)
    longest = min(s.tokens, LONGEST, checkpoint.config.max_position_embeddings)
    if longest < (least := s.max_question_tokens + TITLE + 3 + 8):
        raise TrainingError(
            f"--tokens: {longest} have no room for a text beside {s.max_question_tokens} tokens of a question and "
            f"{TITLE} of a title; at least {least} are needed, or a smaller --max-question-tokens"
        )
    train, held, _ = divide(job.domains, s.hold_out, s.hold_out_most, s.limit)
    return _Data(checkpoint, whole, train, held, longest)


def _groups(job: ReaderJob, data: _Data, folder: RunFolder) -> tuple[Groups, Groups]:
    """The training questions' groups and those of the questions kept back, negatives found once."""
    s = job.settings
    found: dict[str, list[list[int]]] | None = folder.read_json("negatives.json")
    if found is None:
        both = hard_negatives(data.whole, [*data.train, *data.held], s.depth, job.quiet)
        found = {"train": both[: len(data.train)], "held": both[len(data.train) :]}
        folder.write_json("negatives.json", found)

    def groups(questions: list[Question], negatives: list[list[int]]) -> Groups:
        positives = [[data.whole.index[id] for id in q.positives] for q in questions]
        pairs = Pairs(data.checkpoint.tokens, [q.text for q in questions], data.whole.passages, s.max_question_tokens)
        return Groups(questions, positives, negatives, pairs, s.negatives_per_question, data.longest, s.seed)

    return groups(data.train, found["train"]), groups(data.held, found["held"])


def _card(job: ReaderJob, data: _Data, delta: Delta, measured: dict[str, dict[str, float]]) -> Card:
    s = job.settings
    card = job.card(
        f"A reader for conclave, fine-tuned from {job.base_name} on {{names}}: it marks the words of a passage that "
        "answer a question, and says whether the passage answers it.",
        data.checkpoint, data.whole, data.train, data.held,
    )  # fmt: skip
    card.accuracy = {row: {m: values[m] for m in METRICS} for row, values in measured.items()}
    card.settings = dataclasses.asdict(s) | {"bf16": job.device.bf16}
    if measured:
        card.accuracy_over = (
            f"{len(data.held):,} training questions kept back, which chose nothing, each with a passage that answers "
            f"it and {s.negatives_per_question} that look right and do not. top-1: the selection score puts its own "
            "first. auroc: a passage that answers scores above one that does not. em, f1: the words found in its own "
            "passage, over questions with answers."
        )
    card.facts |= {
        "input": f"[CLS] question [SEP] title [SEP] text: at most {s.max_question_tokens}, {TITLE} and in all "
        f"{data.longest} tokens in training",
        "longest answer": f"{SPAN} tokens",
        "kept by the low rank": f"{100 * delta.kept:.1f} % of the change's squared norm",
    }
    card.counts["of the training questions, with answers"] = f"{sum(bool(q.answers) for q in data.train):,}"
    return card


def publish_reader(job: Task, data: tuple[Checkpoint, Domain], delta: Delta, card: Card, question_tokens: int) -> Path:
    """Write the bundle of a reader; its folder."""
    checkpoint, whole = data
    manifest = ReaderManifest(
        **job.stated(checkpoint, card, whole),
        max_tokens=(question_tokens, TITLE, min(LONGEST, checkpoint.config.max_position_embeddings)),
        longest_span=SPAN,
    )
    with Folder(job.out) as folder:
        job.write_delta(folder, delta)
        return job.wrote(folder.finish(manifest, card.text()))
