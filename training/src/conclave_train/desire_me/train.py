"""Making a DESIRE-ME expert: vectors of a frozen base, a head trained on them, and the bundle.

Nothing but the head is trained, so every text is encoded once; then a head takes a minute or two.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from conclave_train.bundle.card import Card
from conclave_train.bundle.manifest import Folder, HeadManifest
from conclave_train.data.records import Domain, Question
from conclave_train.data.split import choose_pool
from conclave_train.desire_me.fit import Examples, Labels, fit
from conclave_train.desire_me.gate import FOREIGN, Gated, fit_gate, lower, nonsense, refused, surplus
from conclave_train.desire_me.graph import write_head
from conclave_train.desire_me.head import MODES, Head
from conclave_train.desire_me.measure import METRICS, Measured, chance, changed, means, measure
from conclave_train.desire_me.settings import DesireMeSettings
from conclave_train.errors import Interrupted, TrainingError
from conclave_train.fit.encode import chunks, encode_all
from conclave_train.fit.state import RunFolder
from conclave_train.job import Task, divide, read_shared
from conclave_train.model.checkpoint import Checkpoint
from conclave_train.model.tokens import Ids
from conclave_train.progress import Progress, say
from conclave_train.retrieval.negatives import Filter, Negatives, from_vectors

GRAPH = "head.onnx"
TEMPLATE = "title-dot-text"  # as the base's bundle has it
AT_ONCE = 2048  # passages between saves
CEILING = 0.98  # a passage that scores above this share of the answer is taken for an unmarked one


@dataclass(frozen=True)
class DesireMeJob(Task):
    """One DESIRE-ME expert to be made."""

    settings: DesireMeSettings = field(default_factory=DesireMeSettings)
    compare: tuple[Domain, ...] = ()  # other questions of the same passages, for the comparison of modes
    foreign: tuple[str, ...] = ()  # questions of no domain


@dataclass(frozen=True)
class _Data:
    """The data, split: ``held`` chooses beta and epoch."""

    checkpoint: Checkpoint
    whole: Domain
    pool: Domain
    labels: Labels
    train: list[Question]
    held: list[Question]
    compared: list[Question]
    foreign: list[str]
    nonsense: list[str]
    temperature: float

    def places(self, questions: Sequence[Question]) -> list[list[int]]:
        return [[self.pool.index[id] for id in q.positives] for q in questions]


@dataclass(frozen=True)
class _Vectors:
    train: Tensor
    held: Tensor
    compared: Tensor
    passages: Tensor
    foreign: Tensor  # and nonsense


@dataclass(frozen=True)
class _Gate:
    """A gate as it was trained and lowered; ``ahead`` is by how much, in logits."""

    weights: dict[str, Tensor]
    ahead: float


@dataclass(frozen=True)
class _Fitted:
    head: Head
    beta: float
    epoch: int
    kept_back: dict[str, float]


def train_desire_me(job: DesireMeJob) -> Path:
    """Encode, train, choose, measure, write the bundle; its folder."""
    data = _prepare(job)
    identity = job.identity(
        data.checkpoint, data.whole, job.settings, kind="desire-me", labels_of=data.labels.names,
        compared=[d.fingerprint() for d in job.compare], foreign=job.foreign,
    )  # fmt: skip
    folder = RunFolder(job.run, identity, job.fresh)
    if not job.quiet:
        say(
            f"{job.name}: {len(data.train):,} training questions, {len(data.held):,} kept back, "
            f"{len(data.pool.passages):,} passages, {len(data.labels.names)} domains"
        )
    vectors = _encode(job, data, folder)
    negatives: Negatives | None = folder.read_json("negatives.json")
    if negatives is None:
        filter = Filter(data.pool, job.settings.answer_filter)
        negatives = from_vectors(
            data.pool, data.train, (vectors.train, vectors.passages), filter, job.settings.depth, CEILING
        )
        folder.write_json("negatives.json", negatives)
    examples = Examples(data.pool, data.train, vectors.train, vectors.passages, negatives)
    gate = _gate(job, data, vectors, negatives, folder)
    best = _choose(job, data, vectors, examples, gate, folder, "desire-me", job.settings.lengths())
    head = best.head.rounded()
    base = means(measure(vectors.held, vectors.passages, data.places(data.held)))
    if best.kept_back["ndcg@10"] <= base["ndcg@10"]:
        raise TrainingError(
            f"the head finds no more than the base for the {len(data.held)} questions kept back: there is no expert "
            "to publish (try more data, more --epochs, or other --betas)"
        )
    card = _card(job, data, vectors, gate, best, base)
    if data.compared:
        _compare(job, data, vectors, examples, gate, folder, head, best.beta, card)
    manifest = HeadManifest(
        **{**job.stated(data.checkpoint, card, data.whole), "delta": GRAPH},
        kind="desire-me",
        dimension=head.dimension,
        normalise=head.normalise,
        domains=data.labels.names,
    )
    with Folder(job.out) as out:
        write_head(out.path(GRAPH), head)
        return job.wrote(out.finish(manifest, card.text()))


def _prepare(job: DesireMeJob) -> _Data:
    s = job.settings
    s.check()
    whole = job.whole()
    checkpoint = read_shared(job.base, "DESIRE-ME expert")
    labels = _labels(job.domains)
    train, held, _ = divide(job.domains, s.hold_out, s.hold_out_most, s.limit)
    if not held:
        raise TrainingError("no question is kept back, and beta is chosen on those: raise --hold-out")
    compared = [q for d in job.compare for q in d.questions]
    pool = choose_pool(whole, [*train, *held, *compared], s.pool)
    kept = [whole.index[p.id] for p in pool.passages]
    return _Data(
        checkpoint, whole, pool, Labels(labels.names, labels.of[kept]), train, held, compared, list(job.foreign),
        nonsense([q.text for q in train], round(s.nonsense * len(train)), s.seed),
        s.temperature or (0.05 if checkpoint.head.normalise else 1.0),
    )  # fmt: skip


def _labels(domains: Sequence[Domain]) -> Labels:
    """What a passage is of: its tags, or the domain's name where it has none."""
    of = [p.tags or (d.name,) for d in domains for p in d.passages]
    names = tuple(dict.fromkeys([d.name for d in domains] + sorted({tag for tags in of for tag in tags})))
    names = tuple(n for n in names if any(n in tags for tags in of))
    if len(names) < 2:
        raise TrainingError(
            f"all passages are of {', '.join(names)}: a gate needs two domains or more (several --data, or passages "
            "with tags)"
        )
    place = {name: i for i, name in enumerate(names)}
    out = np.zeros((len(of), len(names)), np.float32)
    for row, tags in enumerate(of):
        out[row, [place[tag] for tag in tags]] = 1
    return Labels(names, out)


def _encode(job: DesireMeJob, data: _Data, folder: RunFolder) -> _Vectors:
    """All vectors, from the run's folder as far as they are there."""
    tokens, tower = data.checkpoint.tokens, data.checkpoint.model().question.eval().to(job.device.name)
    longest = data.checkpoint.config.max_position_embeddings

    def encode(name: str, rows: Sequence[Ids]) -> Tensor:
        kept: Tensor | None = folder.load_part(f"{name}.pt")
        if kept is not None and len(kept) == len(rows):
            return kept
        out = torch.empty(len(rows), tower.config.output_size)
        with Progress(f"encoding {name}", len(rows), "texts", quiet=job.quiet, saves=True) as bar:
            for number, part in enumerate(chunks([len(row) for row in rows], AT_ONCE)):
                done: Tensor | None = folder.load_part(f"{name}-{number}.pt")
                if done is None:
                    done = encode_all(tower, [rows[i] for i in part], tokens, job.device, tick=bar.tick)
                    folder.save_part(f"{name}-{number}.pt", done)
                else:
                    bar.tick(len(part))
                out[part] = done
                if job.stop():
                    raise Interrupted(f"stopped while {name} were encoded; the same command goes on")
        folder.save_part(f"{name}.pt", out)
        return out

    def texts(name: str, asked: Sequence[str]) -> Tensor:
        return encode(name, tokens.questions(asked, min(longest, data.checkpoint.max_tokens[0])))

    def questions(name: str, asked: Sequence[Question]) -> Tensor:
        return texts(name, [q.text for q in asked])

    rows = tokens.passages(data.pool.passages, TEMPLATE, min(longest, job.settings.max_passage_tokens))
    return _Vectors(
        questions("questions", data.train), questions("kept-back", data.held),
        questions("compared", data.compared) if data.compared else torch.empty(0), encode("passages", rows),
        texts("foreign", [*data.foreign, *data.nonsense]),
    )  # fmt: skip


def _gate(job: DesireMeJob, data: _Data, vectors: _Vectors, found: Negatives, folder: RunFolder) -> _Gate:
    """The gate, trained and lowered; the run's folder keeps it."""
    kept: dict[str, Any] | None = folder.load_part("gate.pt")
    if kept is None:
        s = job.settings
        own = data.places(data.train)
        labels = [data.labels.union([*answers, *near[: s.nearest]]) for answers, near in zip(own, found, strict=True)]
        gated = Gated(vectors.train, torch.from_numpy(np.stack(labels)), vectors.foreign)

        def new(domains: int) -> Head:
            return Head(vectors.train.shape[1], domains, 1.0, True, seed=s.seed)

        head = new(len(data.labels.names))
        fit_gate(head, gated, s, job.stop, job.quiet)
        ahead = surplus(new, gated, s, job.stop, job.quiet)
        lower(head, ahead)
        kept = {"weights": {n: p for n, p in head.state_dict().items() if n.startswith("gate")}, "ahead": ahead}
        folder.save_part("gate.pt", kept)
    return _Gate(**kept)


def _choose(
    job: DesireMeJob,
    data: _Data,
    vectors: _Vectors,
    examples: Examples,
    gate: _Gate,
    folder: RunFolder,
    mode: str,
    betas: Sequence[float],
) -> _Fitted:
    """The best beta and epoch on the questions kept back: by nDCG@10, of those that lose nothing at top-20."""
    s, places = job.settings, data.places(data.held)
    least = means(measure(vectors.held, vectors.passages, places))["top-20"]
    best: tuple[tuple[bool, float], _Fitted] | None = None
    for beta in betas:
        name = f"{mode}-{beta:g}.pt"
        kept: dict[str, Any] | None = folder.load_part(name)
        if kept is None:
            epochs: list[dict[str, Any]] = []

            def done(epoch: int, head: Head, epochs: list[dict[str, Any]] = epochs) -> None:
                found = means(measure(changed(head, vectors.held), vectors.passages, places))
                weights = {n: p.detach().clone() for n, p in head.state_dict().items()}
                epochs.append({"epoch": epoch, "found": found, "weights": weights})

            head = _head(data, beta, gate, mode, s.seed)
            fit(head, examples, s, data.temperature, done, job.stop, job.quiet, f"{mode}, beta {beta:g}")
            kept = max(epochs, key=lambda e: (e["found"]["top-20"] >= least, e["found"]["ndcg@10"]))
            folder.save_part(name, kept)
        rank = (kept["found"]["top-20"] >= least, kept["found"]["ndcg@10"])
        if best is None or rank > best[0]:
            head = _head(data, beta, gate, mode, s.seed)
            head.load_state_dict(kept["weights"])
            best = rank, _Fitted(head.eval(), beta, kept["epoch"], kept["found"])
    assert best is not None
    return best[1]


def _head(data: _Data, beta: float, gate: _Gate, mode: str, seed: int) -> Head:
    own = data.checkpoint.head
    head = Head(data.checkpoint.config.output_size, len(data.labels.names), beta, own.normalise, mode, seed)
    head.load_state_dict(gate.weights, strict=False)
    return head


def _compare(
    job: DesireMeJob,
    data: _Data,
    vectors: _Vectors,
    examples: Examples,
    gate: _Gate,
    folder: RunFolder,
    head: Head,
    beta: float,
    card: Card,
) -> None:
    """The other modes with the same beta, each at its best epoch, on questions that chose nothing."""
    places = data.places(data.compared)

    def measured(head: Head | None) -> Measured:
        torch.manual_seed(job.settings.seed)
        return measure(changed(head, vectors.compared), vectors.passages, places)

    rows: dict[str, Measured] = {"zeros (the base)": measured(None)}
    for mode in ("random", "ones", "adapter"):
        rows[mode] = measured(_choose(job, data, vectors, examples, gate, folder, mode, [beta]).head)
    rows["desire-me"] = measured(head)
    card.accuracy = {row: means(found) for row, found in rows.items()}
    lines = []
    for row, other in (("random", "zeros (the base)"), ("ones", "random"), ("desire-me", "random"),
                       ("desire-me", "ones"), ("desire-me", "adapter"), ("desire-me", "zeros (the base)")):  # fmt: skip
        chances = ", ".join(f"{m} p {chance(rows[row][m], rows[other][m]):.4f}" for m in METRICS)
        lines.append(f"- {row} against {other}: {chances}")
    card.accuracy_over = (
        f"{len(data.compared):,} other questions, which chose nothing, searched in {len(data.pool.passages):,} "
        f"passages. All modes have the beta {beta:g}, and each the epoch that was best on the questions kept back.\n\n"
        + "\n".join(lines)
        + "\n\n(paired randomisation, two-sided)"
    )


def _card(job: DesireMeJob, data: _Data, vectors: _Vectors, gate: _Gate, best: _Fitted, base: dict[str, float]) -> Card:
    card = job.card(
        "A DESIRE-ME expert for conclave: a gate and specialisers that were trained on {names} and change the "
        f"question vectors of {job.base_name}, which is as it was. Its passages are the base's.",
        data.checkpoint, data.whole, data.train, data.held,
    )  # fmt: skip
    card.settings = dataclasses.asdict(job.settings) | {"bf16": job.device.bf16}
    card.accuracy = {"base": base, "desire-me": best.kept_back}
    card.accuracy_over = (
        f"{len(data.held):,} training questions kept back, searched in {len(data.pool.passages):,} passages. They "
        "chose beta and epoch, so expect less on new questions."
    )
    card.facts |= {
        "domains": ", ".join(data.labels.names),
        "beta, epoch (chosen)": f"{best.beta:g}, {best.epoch}",
        "kept back: nDCG@10, top-1, top-20": ", ".join(
            f"{best.kept_back[m]:.1f} (base {base[m]:.1f})" for m in METRICS
        ),
        "gates were lowered by (logits)": f"{gate.ahead:.2f}",
        f"kept back, with all gates below {FOREIGN}": f"{100 * refused(best.head, vectors.held).mean():.1f} %",
        "numbers": f"{sum(p.numel() for p in best.head.parameters()):,}",
    }
    card.counts["questions of no domain"] = f"{len(data.foreign):,}, and {len(data.nonsense):,} that ask nothing"
    card.counts["passages"] = f"{len(data.pool.passages):,} of {len(data.whole.passages):,}"
    return card


__all__ = ["MODES", "DesireMeJob", "train_desire_me"]
