"""Making an expert: data and a base checkpoint in, a bundle out."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from conclave_train.bundle.card import Card
from conclave_train.errors import NoGainError
from conclave_train.fit.loop import Loop, LoopSettings, Texts
from conclave_train.fit.state import Progressed, RunFolder
from conclave_train.job import Job, Prepared, prepare
from conclave_train.mining import Miner
from conclave_train.model.delta import Delta, extract, load_merged
from conclave_train.model.lowrank import make_low_rank, merged_state
from conclave_train.model.tower import BiEncoder, freeze_embeddings
from conclave_train.progress import say
from conclave_train.publish import Result, publish
from conclave_train.retrieval.distant import supervise
from conclave_train.selection import Selection

KIND = "An expert for conclave, fine-tuned from {base} on {names}."


@dataclass(frozen=True)
class Trained:
    """A fine-tuned bi-encoder as it will be served, and how it came to be."""

    model: BiEncoder
    delta: Delta | None
    state: Progressed
    measured: dict[str, dict[str, float]]


def train_expert(job: Job) -> Path:
    """Fine-tune, compress, add ensemble, calibration and representatives, write the bundle; its folder.

    Questions without positives have those that distant supervision finds.
    (Karpukhin et al. 2020 for the fine-tuning, Li et al. 2021, MUF, for the ensemble)
    """
    supervised = [supervise(domain, job.quiet) for domain in job.domains]
    found, lost = sum(s[1] for s in supervised), sum(s[2] for s in supervised)
    counts = {
        "questions whose passage is BM25's first with an answer": f"{found:,}",
        "questions left out: none with an answer in BM25's first 100": f"{lost:,}",
    }
    job = dataclasses.replace(job, domains=tuple(domain for domain, _, _ in supervised))
    return train_marked(job, KIND, counts if found or lost else {})


def train_marked(job: Job, kind: str, counts: Mapping[str, str], facts: Mapping[str, str] | None = None) -> Path:
    """The same, of questions that all have positives; ``kind``, ``counts`` and ``facts`` are for the card."""
    prepared = prepare(job)
    head = prepared.checkpoint.head
    identity = job.identity(
        prepared.checkpoint, prepared.domain, job.settings, template=prepared.template, pooling=head.pooling,
        normalise=head.normalise, ensemble=job.ensemble and dataclasses.asdict(job.ensemble), weights=job.weights,
    )  # fmt: skip
    folder = RunFolder(job.run, identity, job.fresh)
    if not job.quiet:
        say(
            f"{job.name}: {len(prepared.train):,} training questions, {len(prepared.held):,} kept back, "
            f"{len(prepared.domain.passages):,} passages"
        )
    selection = Selection(prepared, prepared.held, job.settings.select_passages) if prepared.held else None
    trained = fine_tune(job, prepared, folder, selection)
    result = Result(trained.model, trained.delta, prepared, selection, trained.measured)
    card = _card(job, kind, prepared, trained, selection)
    card.counts |= counts
    card.facts |= facts or {}
    return publish(job, result, card, folder)


def fine_tune(job: Job, prepared: Prepared, folder: RunFolder, selection: Selection | None) -> Trained:
    """The bi-encoder after training and after rounding to what travels."""
    s = job.settings
    model = prepared.checkpoint.model()
    if s.towers == "two" and model.tied:
        model = model.untied()
    for tower in model.towers().values():
        if s.update == "low-rank":
            make_low_rank(tower, s.rank, s.alpha, s.targets)
        elif s.embeddings == "frozen":
            freeze_embeddings(tower)
    tokens = prepared.checkpoint.tokens
    texts = Texts(
        tokens.questions([q.text for q in prepared.train], s.question_tokens),
        tokens.passages(prepared.domain.passages, prepared.template, s.passage_tokens),
        tokens,
    )
    miner = Miner(prepared, s, texts, job.device, folder, job.quiet)
    per_epoch = miner.batches(-1, model).per_epoch
    loop = Loop(model, texts, _loop_settings(job, prepared, per_epoch), job.device, folder, job.stop, job.quiet)
    scorer = selection.scorer(model, job.device, job.quiet) if selection else None
    state = loop.fit(per_epoch, lambda epoch: miner.batches(epoch, model), scorer)
    if selection and state.best_epoch == 0:
        raise NoGainError(
            f"no epoch was better than the base on the {len(prepared.held)} questions kept back: "
            "there is no expert to publish (try more data, another --learning-rate, or --hold-out 0)"
        )
    measured = {"base": state.history[0], "after training": _best(state)} if selection else {}
    model.eval().cpu()
    if job.weights != "delta":
        return Trained(model, None, state, measured)
    delta = extract(prepared.checkpoint, {name: merged_state(t) for name, t in model.towers().items()}, s.rank)
    rounded = load_merged(prepared.checkpoint, delta).eval()
    if selection:
        measured[f"as shipped (rank {s.rank}, fp16)"] = selection.measure(
            rounded.to(job.device.name), job.device, "measuring the delta", job.quiet
        )
        rounded.cpu()
    return Trained(rounded, delta, state, measured)


def _loop_settings(job: Job, prepared: Prepared, per_epoch: int) -> LoopSettings:
    s = job.settings
    steps = s.warm_up * per_epoch * s.epochs if s.warm_up < 1 else s.warm_up
    return LoopSettings(
        epochs=s.epochs,
        batch=s.batch,
        learning_rate=s.learning_rate,
        weight_decay=s.weight_decay,
        warm_up=math.floor(steps),
        max_norm=s.max_norm,
        temperature=prepared.temperature,
        seed=s.seed,
        chunk=s.chunk,
        cache_gradients=s.cache_gradients,
        save_every=s.save_every,
    )


def _best(state: Progressed) -> dict[str, float]:
    return next(h for h in state.history if h["epoch"] == state.best_epoch)


def _card(job: Job, kind: str, prepared: Prepared, trained: Trained, selection: Selection | None) -> Card:
    metrics = ("top-1", "top-5", "top-20", "top-100", "mrr@10")
    kind = kind.replace("{base}", job.base_name)
    card = job.card(kind, prepared.checkpoint, prepared.domain, prepared.train, prepared.held)
    card.accuracy = {row: {m: values[m] for m in metrics} for row, values in trained.measured.items()}
    card.accuracy_over = selection.describe() if selection else ""
    card.settings = dataclasses.asdict(job.settings) | {"temperature": prepared.temperature}
    card.facts |= {
        "vectors": f"{prepared.checkpoint.config.output_size} numbers"
        + (", unit length" if prepared.checkpoint.head.normalise else ""),
        "passage template": prepared.template,
        "checkpoint": f"epoch {trained.state.best_epoch:g} of {job.settings.epochs}",
    }
    if trained.delta:
        card.facts["kept by the low rank"] = f"{100 * trained.delta.kept:.1f} % of the change's squared norm"
    return card
