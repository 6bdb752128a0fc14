"""Making an expert from questions and answers alone: a reader teaches it which passages help (Sachan et al. 2021)."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path

import torch

from conclave_train.bundle.card import Card
from conclave_train.data.records import Question
from conclave_train.errors import TrainingError
from conclave_train.feedback.gain import advise, check_gain
from conclave_train.feedback.holders import Holders
from conclave_train.feedback.rounds import Rounds, Score
from conclave_train.feedback.salient import Cloze
from conclave_train.feedback.teacher import Given, ReaderTeacher, Teacher, alike, open_reader
from conclave_train.feedback.warm import clozes_of_all, warm_up_retriever
from conclave_train.fit.encode import encode_all
from conclave_train.fit.loop import Texts
from conclave_train.fit.state import Progressed, RunFolder
from conclave_train.generator import is_t5, train_with_generator
from conclave_train.job import Job, Prepared, Task, prepare
from conclave_train.labelled import train_labelled
from conclave_train.model.delta import extract, load_merged
from conclave_train.model.tower import BiEncoder, freeze_embeddings
from conclave_train.progress import Progress, say
from conclave_train.publish import Result, publish
from conclave_train.reader import publish_reader
from conclave_train.reading.model import reader_delta
from conclave_train.reading.pairs import Pairs
from conclave_train.retrieval.accuracy import accuracy, first_ranks
from conclave_train.settings import EndToEndSettings, EnsembleSettings, ReaderSettings

METRICS = ("top-1", "top-5", "top-20", "top-100", "mrr@10")


@dataclass(frozen=True)
class EndToEndJob(Task):
    """One expert to be made of questions whose passages nobody marked."""

    settings: EndToEndSettings = field(default_factory=EndToEndSettings)
    reader: Path | None = None  # None: every passage that holds an answer teaches alike
    collection: Path | None = None  # labels: where passages are found; None: in one that is made
    url: str = ""  # labels: the server that finds passages in its place
    program: str = "conclave"  # labels: the program that finds passages
    ensemble: EnsembleSettings | None = None  # labels: None: the expert gets none
    template: str = ""
    representatives: int = 256

    def expert(self) -> Job:
        """The same as fine-tuning an expert has it; marked passages are taken away."""
        unmarked = tuple(
            dataclasses.replace(d, questions=[dataclasses.replace(q, positives=(), negatives=()) for q in d.questions])
            for d in self.domains
        )
        own = {f.name: getattr(self, f.name) for f in dataclasses.fields(Task)}
        return Job(
            **own | {"domains": unmarked}, settings=self.settings.expert(), template=self.template,
            representatives=self.representatives,
        )  # fmt: skip


@dataclass(frozen=True)
class _Held:
    """Questions kept back, and the passages that hold their answers."""

    questions: list[Question]
    holders: list[list[int]]


def train_end_to_end(job: EndToEndJob) -> Path:
    """Train by the way that the settings name, or with the T5 that is the reader; the bundle's folder."""
    if job.reader and is_t5(job.reader):
        return train_with_generator(job)
    return train_labelled(job) if job.settings.way == "labels" else train_by_feedback(job)


def train_by_feedback(job: EndToEndJob) -> Path:
    """Search, ask the reader, train, in rounds; compress; write the bundle; its folder."""
    job.settings.check()
    job = dataclasses.replace(job, settings=job.settings.of_way())
    if job.settings.objective == "alt-1":
        raise TrainingError("--objective alt-1: without feedback nothing but a T5 learns; give one with --reader")
    if job.settings.refit_reader and not job.reader:
        raise TrainingError("--refit-reader: there is no reader to train; name one with --reader")
    expert = job.expert()
    prepared = prepare(expert)
    reader = open_reader(job.reader, prepared.checkpoint, expert.domains) if job.reader else None
    train, held = _answered(job, prepared)
    prepared = dataclasses.replace(prepared, train=[q for q, _ in train], held=held.questions)
    identity = job.identity(
        prepared.checkpoint, prepared.domain, job.settings, kind="end-to-end", template=prepared.template,
        reader=str(job.reader) if job.reader else "",
    )  # fmt: skip
    warm_ups = clozes_of_all(prepared, job.settings)
    folder = RunFolder(job.run, identity, job.fresh)
    if not job.quiet:
        say(
            f"{job.name}: {len(train):,} training questions with an answer in the passages, {len(held.questions):,} "
            f"kept back, {len(prepared.domain.passages):,} passages"
        )
    holders = [h for _, h in train]
    teach: Teacher = alike(holders)
    if reader:
        asked, tokens = [q.text for q in prepared.train], prepared.checkpoint.tokens
        pairs = Pairs(tokens, asked, prepared.domain.passages, reader.question_tokens)
        answers = [q.answers for q in prepared.train]
        teach = ReaderTeacher(
            reader.reader, pairs, answers, holders, job.device, job.settings, folder, job.stop, job.quiet
        )
    model, state = _train(job, prepared, folder, teach, held, warm_ups)
    towers = model.towers() if job.settings.both_sides else {"question": model.question}
    delta = extract(prepared.checkpoint, {n: t.cpu().plain_state() for n, t in towers.items()}, job.settings.rank)
    rounded = load_merged(prepared.checkpoint, delta).eval()
    measured: dict[str, dict[str, float]] = {}
    if held.questions:
        measured = {"base": state.history[0], "after training": state.history[-1]}
        score = _scorer(job, prepared, held, rounded.to(job.device.name))
        measured[f"as shipped (rank {job.settings.rank}, fp16)"] = score(_passages(job, prepared, rounded, folder))
        rounded.cpu()
    card = _card(job, expert, prepared, held, measured)
    card.facts["kept by the low rank"] = f"{100 * delta.kept:.1f} % of the change's squared norm"
    if reader and job.settings.refit_reader:
        _publish_reader(job, prepared, reader)
    return publish(expert, Result(rounded, delta, prepared, None, measured), card, folder)


def _publish_reader(job: EndToEndJob, prepared: Prepared, reader: Given) -> None:
    """Write the reader as it is after the last round into a folder beside the expert's."""
    assert job.reader
    own = dataclasses.replace(job, name=f"{job.name}-reader", out=job.out.with_name(f"{job.out.name}-reader"))
    delta = reader_delta(prepared.checkpoint, reader.reader.cpu(), ReaderSettings().rank)
    card = own.card(
        f"The reader {job.reader.resolve().name}, which learned further from questions and answers of {{names}}, and "
        "from the passages that were found for them.",
        prepared.checkpoint, prepared.domain, prepared.train, [],
    )  # fmt: skip
    card.settings = dataclasses.asdict(job.settings)
    card.facts |= {
        "trained before on": reader.trained_on,
        "kept by the low rank": f"{100 * delta.kept:.1f} % of the change's squared norm",
    }
    publish_reader(own, (prepared.checkpoint, prepared.domain), delta, card, reader.question_tokens)


def _answered(job: EndToEndJob, prepared: Prepared) -> tuple[list[tuple[Question, list[int]]], _Held]:
    """The questions that some passages answer, with these passages; those kept back likewise."""
    holders = Holders(prepared.domain.passages, job.settings.most_common)
    train, held = (
        [(q, places) for q in questions if (places := holders(q.answers))]
        for questions in (prepared.train, prepared.held)
    )
    if len(train) < 2:
        raise TrainingError(
            f"{len(train)} of {len(prepared.train)} training questions have an answer that stands in a passage (and in "
            f"no more than {100 * job.settings.most_common:g} % of them): too few"
        )
    return train, _Held([q for q, _ in held], [places for _, places in held])


def _train(
    job: EndToEndJob,
    prepared: Prepared,
    folder: RunFolder,
    teach: Teacher,
    held: _Held,
    warm_ups: dict[str, list[Cloze]],
) -> tuple[BiEncoder, Progressed]:
    """The bi-encoder after its rounds."""
    s, tokens = job.settings, prepared.checkpoint.tokens
    model = prepared.checkpoint.model()
    model = model.untied() if model.tied else model
    for tower in model.towers().values():
        freeze_embeddings(tower)
    for what, made in warm_ups.items():
        warm_up_retriever(model, what, made, prepared, s, job.device, folder, job.stop, job.quiet)
    texts = Texts(
        tokens.questions([q.text for q in prepared.train], s.question_tokens),
        tokens.passages(prepared.domain.passages, prepared.template, s.passage_tokens) if s.both_sides else [],
        tokens,
    )
    score = _scorer(job, prepared, held, model) if held.questions else None
    frozen = None if s.both_sides else _passages(job, prepared, model.to(job.device.name), folder)
    rounds = Rounds(
        model, texts, teach, frozen, s, prepared.temperature, job.device, folder, score,
        teach.learn if isinstance(teach, ReaderTeacher) and s.refit_reader else None, job.stop, job.quiet,
    )  # fmt: skip
    rounds.fit()
    history = rounds.state.history
    if history:
        _check(s, history, len(prepared.train), len(held.questions), job.quiet)
    return rounds.model.eval(), rounds.state


def _check(s: EndToEndSettings, history: list[dict[str, float]], train: int, held: int, quiet: bool) -> None:
    """An error where the first passage with an answer stands lower than before; where it gains nothing, it is said."""
    before, after = history[0], history[-1]
    told = ", ".join(f"{m} {before[m]:.1f} → {after[m]:.1f}" for m in METRICS)
    helps = [] if s.both_sides else ["--way labels or --both-sides, which train the passages' encoder too"]
    helps.append("a lower --learning-rate")
    check_gain(before["score"], after["score"], told, held, advise(helps, train, held), quiet)


def _passages(job: EndToEndJob, prepared: Prepared, model: BiEncoder, folder: RunFolder) -> torch.Tensor:
    """The passages' vectors as they are served; those of the frozen encoder are kept in the run's folder."""
    kept: torch.Tensor | None = None if job.settings.both_sides else folder.load_part("passages.pt")
    if kept is not None:
        return kept
    checkpoint = prepared.checkpoint
    rows = checkpoint.tokens.passages(prepared.domain.passages, prepared.template, checkpoint.max_tokens[1])
    with Progress("encoding passages", len(rows), "texts", quiet=job.quiet) as bar:
        vectors = encode_all(model.passage, rows, checkpoint.tokens, job.device, tick=bar.tick)
    if not job.settings.both_sides:
        folder.save_part("passages.pt", vectors)
    return vectors


def _scorer(job: EndToEndJob, prepared: Prepared, held: _Held, model: BiEncoder) -> Score:
    """Where the first passage with an answer stands, for the questions kept back."""
    tokens = prepared.checkpoint.tokens
    rows = tokens.questions([q.text for q in held.questions], prepared.checkpoint.max_tokens[0])

    def score(passages: torch.Tensor) -> dict[str, float]:
        found = accuracy(first_ranks(encode_all(model.question, rows, tokens, job.device), passages, held.holders))
        return {"score": (found["top-1"] + found["top-20"]) / 2, **found}

    return score


def _card(
    job: EndToEndJob, expert: Job, prepared: Prepared, held: _Held, measured: dict[str, dict[str, float]]
) -> Card:
    card = expert.card(
        f"An expert for conclave, fine-tuned from {job.base_name} on questions and answers of {{names}}: nobody said "
        "which passages answer them.",
        prepared.checkpoint, prepared.domain, prepared.train, held.questions,
    )  # fmt: skip
    card.accuracy = {row: {m: values[m] for m in METRICS} for row, values in measured.items()}
    if measured:
        card.accuracy_over = (
            f"{len(held.questions):,} questions kept back, searched in all {len(prepared.domain.passages):,} passages. "
            "A passage that holds an answer counts, whatever else it says. They chose no round."
        )
    card.settings = dataclasses.asdict(job.settings) | {"temperature": prepared.temperature}
    card.facts |= {
        "taught by": f"the reader {job.reader.resolve().name}" if job.reader else "every passage that holds an answer",
        "changed": "both encoders"
        if job.settings.both_sides
        else "the question encoder alone; passages are the base's",
        "passage template": prepared.template,
        "checkpoint": f"the last of {job.settings.epochs} rounds",
    }
    return card
