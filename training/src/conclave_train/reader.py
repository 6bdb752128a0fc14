"""Making a reader: questions with their answers in, a delta of the base and two heads out (DPR, section 6.1)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conclave_train.bundle.card import Card
from conclave_train.bundle.manifest import Folder
from conclave_train.bundle.reader_manifest import ReaderManifest
from conclave_train.data.records import Domain, Question, union
from conclave_train.errors import TrainingError
from conclave_train.fit.encode import Device
from conclave_train.fit.state import RunFolder
from conclave_train.job import divide, versions
from conclave_train.model.checkpoint import Checkpoint, read_checkpoint
from conclave_train.model.delta import Delta, write_delta
from conclave_train.progress import say
from conclave_train.publish import DELTA, lineage
from conclave_train.reading.groups import Groups, hard_negatives
from conclave_train.reading.loop import ReaderLoop
from conclave_train.reading.measure import METRICS, measure
from conclave_train.reading.model import load_reader, new_reader, reader_delta
from conclave_train.reading.pairs import LONGEST, SPAN, TITLE, Pairs
from conclave_train.settings import ReaderSettings

CHANCE = 52.0  # percent: an AUROC below it is taken for that of a coin


@dataclass(frozen=True)
class ReaderJob:
    """One reader to be made of ``domains``, on the checkpoint ``base``, in the folder ``out``."""

    name: str
    domains: tuple[Domain, ...]
    base: Path
    out: Path
    run: Path
    settings: ReaderSettings = field(default_factory=ReaderSettings)
    base_name: str = "base"  # the base's bundle, for people
    licence: str = ""  # of the data
    device: Device = field(default_factory=Device)
    fresh: bool = False
    quiet: bool = False
    stop: Callable[[], bool] = lambda: False


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
    folder = RunFolder(job.run, _identity(job, data), job.fresh)
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
    return _publish(job, data, delta, _card(job, data, delta, measured))


def _prepare(job: ReaderJob) -> _Data:
    """Read the base, hold questions back; what can fail early does."""
    s = job.settings
    s.check()
    if not job.domains:
        raise TrainingError("there is no data to train on")
    checkpoint = read_checkpoint(job.base)
    if "shared" not in checkpoint.states:
        raise TrainingError(f"{job.base} has an encoder for each side; a reader needs one for both")
    if s.dropout >= 0:
        config = dataclasses.replace(
            checkpoint.config, hidden_dropout_prob=s.dropout, attention_probs_dropout_prob=s.dropout
        )
        checkpoint = dataclasses.replace(checkpoint, config=config)
    longest = min(s.tokens, LONGEST, checkpoint.config.max_position_embeddings)
    if longest < (least := s.max_question_tokens + TITLE + 3 + 8):
        raise TrainingError(
            f"--tokens: {longest} have no room for a text beside {s.max_question_tokens} tokens of a question and "
            f"{TITLE} of a title; at least {least} are needed, or a smaller --max-question-tokens"
        )
    whole = job.domains[0] if len(job.domains) == 1 else union(job.name, job.domains)
    train, held, _ = divide(job.domains, s.hold_out, s.hold_out_most, s.limit)
    return _Data(checkpoint, whole, train, held, longest)


def _identity(job: ReaderJob, data: _Data) -> dict[str, Any]:
    """What a resumed run must have in common with the one that was interrupted."""
    return {
        "kind": "reader",
        "name": job.name,
        "base": data.checkpoint.sha256,
        "data": data.whole.fingerprint(),
        "bf16": job.device.bf16,
        **dataclasses.asdict(job.settings),
    }


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
    s, checkpoint = job.settings, data.checkpoint
    names = ", ".join(d.name for d in job.domains)
    card = Card(
        name=job.name,
        kind=f"A reader for conclave, fine-tuned from {job.base_name} on {names}: it marks the words of a passage that "
        "answer a question, and says whether the passage answers it.",
        licence=job.licence,
        sources=[source for domain in job.domains for source in domain.sources],
        accuracy={row: {m: values[m] for m in METRICS} for row, values in measured.items()},
        settings=dataclasses.asdict(s) | {"bf16": job.device.bf16},
        versions=versions(),
    )
    if measured:
        card.accuracy_over = (
            f"{len(data.held):,} training questions kept back, which chose nothing, each with a passage that answers "
            f"it and {s.negatives_per_question} that look right and do not. top-1: the selection score puts its own "
            "first. auroc: a passage that answers scores above one that does not. em, f1: the words found in its own "
            "passage, over questions with answers."
        )
    card.facts = {
        "base": f"{job.base_name} ({checkpoint.config.describe()})",
        "SHA-256 of the base's weights": checkpoint.sha256,
        "licence of the base": checkpoint.licence or "not stated by the checkpoint",
        "input": f"[CLS] question [SEP] title [SEP] text: at most {s.max_question_tokens}, {TITLE} and in all "
        f"{data.longest} tokens in training",
        "longest answer": f"{SPAN} tokens",
        "kept by the low rank": f"{100 * delta.kept:.1f} % of the change's squared norm",
    }
    card.counts = {
        "training questions": f"{len(data.train):,}",
        "of these with answers": f"{sum(bool(q.answers) for q in data.train):,}",
        "questions kept back": f"{len(data.held):,}",
        "passages": f"{len(data.whole.passages):,}",
        "SHA-256 of all records": data.whole.fingerprint(),
    }
    return card


def _publish(job: ReaderJob, data: _Data, delta: Delta, card: Card) -> Path:
    checkpoint = data.checkpoint
    manifest = ReaderManifest(
        name=job.name,
        max_tokens=(job.settings.max_question_tokens, TITLE, min(LONGEST, checkpoint.config.max_position_embeddings)),
        lower_case=checkpoint.tokens.lower_case,
        source=job.base_name,
        source_sha256=checkpoint.sha256,
        architecture=checkpoint.config.describe(),
        licence=checkpoint.licence,
        base_name=job.base_name,
        delta=DELTA,
        notes=lineage(card, data.whole, job.domains),
    )
    with Folder(job.out) as folder:
        write_delta(folder.path(DELTA), delta, {"base": job.base_name, "name": job.name})
        out = folder.finish(manifest, card.text())
    if not job.quiet:
        say(f"wrote {out} ({sum(f.stat().st_size for f in out.iterdir()) / 2**20:.1f} MB)")
    return out
