"""Making an expert and a generator of questions and answers alone: retriever and reader learn together (EMDR²)."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from tokenizers import Tokenizer
from torch import Tensor

from conclave_train.bundle.card import Card
from conclave_train.data.records import Question
from conclave_train.errors import TrainingError
from conclave_train.feedback.evidence import Evidence
from conclave_train.feedback.gain import advise, check_gain
from conclave_train.feedback.holders import Holders
from conclave_train.feedback.joint import Joint, Pair, Score
from conclave_train.feedback.salient import Cloze
from conclave_train.feedback.warm import clozes_of_all, warm_up_retriever
from conclave_train.fid import FILES, FidJob, Reading, write_generator
from conclave_train.fit.encode import encode_all
from conclave_train.fit.fused import states
from conclave_train.fit.loop import Texts
from conclave_train.fit.state import Progressed, RunFolder
from conclave_train.job import Prepared, prepare, versions
from conclave_train.model.delta import extract, load_merged
from conclave_train.model.t5 import T5, read_t5
from conclave_train.model.tower import Tower, freeze_embeddings
from conclave_train.progress import Progress, say
from conclave_train.publish import Result, publish
from conclave_train.reading.squad import exact_match, f1
from conclave_train.retrieval.accuracy import accuracy, first_ranks, search
from conclave_train.settings import EndToEndSettings, FidSettings

if TYPE_CHECKING:
    from conclave_train.end_to_end import EndToEndJob

FIGURES = ("em", "f1", "top-1", "top-5", "top-20")
DEPTHS = (1, 5, 20)
READS = 10.0  # percent of exact match, below which a reader says little of its passages


def is_t5(folder: Path) -> bool:
    """Whether a folder has the ``config.json`` of a T5."""
    try:
        return bool(json.loads((folder / "config.json").read_text("utf-8")).get("model_type") == "t5")
    except (OSError, ValueError, AttributeError):
        return False


@dataclasses.dataclass(frozen=True)
class Ready:
    """What the loop works on."""

    job: EndToEndJob
    s: EndToEndSettings
    prepared: Prepared
    words: Tokenizer
    folder: RunFolder
    warm_ups: dict[str, list[Cloze]]  # the questions of each

    def reading(self, questions: list[Question]) -> Reading:
        """Questions for the reader."""
        s = self.s
        fid = FidSettings(
            passages_per_question=s.hits, tokens=s.tokens, answer_tokens=s.answer_tokens, seed=s.seed, depth=s.hits
        )
        return Reading(questions, self.prepared.domain, [], self.words, fid)

    def encode(self, tower: Tower, shown: bool) -> Tensor:
        """The vectors of all passages as they are served."""
        checkpoint = self.prepared.checkpoint
        rows = checkpoint.tokens.passages(
            self.prepared.domain.passages, self.prepared.template, checkpoint.max_tokens[1]
        )
        if not shown:  # beside the training, whose progress is shown
            return encode_all(tower, rows, checkpoint.tokens, self.job.device)
        with Progress("encoding passages", len(rows), "texts", quiet=self.job.quiet) as bar:
            return encode_all(tower, rows, checkpoint.tokens, self.job.device, tick=bar.tick)


def train_with_generator(job: EndToEndJob) -> Path:
    """Train both in one loop; write the expert's bundle, whose folder is returned, and the generator beside it."""
    assert job.reader
    job.settings.check()
    s = dataclasses.replace(job.settings, way="feedback").of_way()
    if s.refit_reader:
        raise TrainingError("--refit-reader: it is of a reader that marks words; a T5 always learns too")
    for name in FILES:
        if not (job.reader / name).exists():
            raise TrainingError(f"--reader: {job.reader} has no {name}: give a T5's folder with {', '.join(FILES)}")
    expert = dataclasses.replace(job, settings=s).expert()
    prepared = prepare(expert)
    train, held = ([q for q in part if any(a.strip() for a in q.answers)] for part in (prepared.train, prepared.held))
    if len(train) < 2:
        raise TrainingError(f"{len(train)} training questions have answers: too few")
    prepared = dataclasses.replace(prepared, train=train, held=held)
    with (job.reader / "model.safetensors").open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    identity = job.identity(
        prepared.checkpoint, prepared.domain, s, kind="joint", template=prepared.template, reader=sha256
    )
    warm_ups = clozes_of_all(prepared, s)
    folder = RunFolder(job.run, identity, job.fresh)
    if not job.quiet:
        say(
            f"{job.name}: {len(train):,} training questions with answers, {len(held):,} kept back, "
            f"{len(prepared.domain.passages):,} passages"
        )
    ready = Ready(job, s, prepared, Tokenizer.from_file(str(job.reader / "tokenizer.json")), folder, warm_ups)
    pair = new_pair(prepared, job.reader, s)
    state = fit(ready, pair)
    towers = pair.retriever.towers() if s.both_sides else {"question": pair.retriever.question}
    delta = extract(prepared.checkpoint, {n: t.cpu().plain_state() for n, t in towers.items()}, s.rank)
    rounded = load_merged(prepared.checkpoint, delta).eval()
    _check(ready, state)
    card = _expert_card(ready, expert, state)
    card.facts["kept by the low rank"] = f"{100 * delta.kept:.1f} % of the change's squared norm"
    _write_generator(ready, pair.reader.cpu(), sha256, state)
    return publish(expert, Result(rounded, delta, prepared, None, {}), card, folder)


def new_pair(prepared: Prepared, reader: Path, s: EndToEndSettings) -> Pair:
    """Both models before training."""
    model = prepared.checkpoint.model()
    model = model.untied() if model.tied else model
    for tower in model.towers().values():
        freeze_embeddings(tower)
    return Pair(model, read_t5(reader, max(0.0, s.dropout)))


def fit(ready: Ready, pair: Pair) -> Progressed:
    """Train ``pair`` in place: warm it up as the settings say, then train it on the questions."""
    job, s, prepared = ready.job, ready.s, ready.prepared
    pair.to(job.device.name)
    for what, made in ready.warm_ups.items():
        if what == "ict":
            warm_up_retriever(pair.retriever, what, made, prepared, s, job.device, ready.folder, job.stop, job.quiet)
        else:
            _read_masked(ready, pair, made)
    joint = _joint(ready, pair, prepared.train, ready.folder, scorer(ready, pair) if prepared.held else None)
    joint.fit()
    pair.eval()
    return joint.state


def _joint(
    ready: Ready, pair: Pair, asked: list[Question], folder: RunFolder, score: Score | None,
    hidden: list[int] | None = None,
) -> Joint:  # fmt: skip
    """The loop over the questions ``asked``."""
    job, s, prepared, tokens = ready.job, ready.s, ready.prepared, ready.prepared.checkpoint.tokens
    own = folder if s.both_sides else ready.folder  # vectors that stay are one for all
    evidence = Evidence(ready.encode, pair.retriever.passage, s.refresh if s.both_sides else 0, s.save_every, own)
    texts = Texts(
        tokens.questions([q.text for q in asked], s.question_tokens),
        tokens.passages(prepared.domain.passages, prepared.template, s.passage_tokens) if s.both_sides else [],
        tokens,
    )
    if hidden is not None:
        s = dataclasses.replace(s, epochs=s.warm_up_epochs)
    return Joint(
        pair, texts, ready.reading(asked), evidence, s, prepared.temperature, job.device, folder, score, hidden,
        job.stop, job.quiet,
    )  # fmt: skip


def _read_masked(ready: Ready, pair: Pair, made: Sequence[Cloze]) -> None:
    """Train both on sentences ``made`` with a span masked, as on questions with that answer.

    The sentence's own passage is not among those found where another holds the span too: else nothing but equal words
    would be learned.
    """
    passages = ready.prepared.domain.passages
    holders = Holders(passages, 1.0)
    hidden = [c.place if len(holders(c.question.answers)) > 1 else -1 for c in made]
    if not ready.job.quiet:
        say(
            f"warming up: mss, {len(made):,} sentences, {sum(h >= 0 for h in hidden):,} answered by another passage too"
        )
    _joint(ready, pair, [c.question for c in made], ready.folder.within("warm-up-mss"), None, hidden).fit()


def scorer(ready: Ready, pair: Pair) -> Score:
    """For the questions kept back: the answers from the first K passages found, and where the first stands that holds
    an answer, of those questions of which some passage does."""
    held, s, device = ready.prepared.held, ready.s, ready.job.device
    reading, tokens = ready.reading(held), ready.prepared.checkpoint.tokens
    rows = tokens.questions([q.text for q in held], ready.prepared.checkpoint.max_tokens[0])
    holders = Holders(ready.prepared.domain.passages, s.most_common)
    holding = [holders(q.answers) for q in held]
    known = [i for i, places in enumerate(holding) if places]

    def score(vectors: Tensor) -> dict[str, float]:
        q = encode_all(pair.retriever.question, rows, tokens, device)
        places = search(q, vectors, s.hits)[0]
        found = answers(pair.reader, reading, [[int(p) for p in row] for row in places], ready)
        out = {"em": found[0], "f1": found[1]}
        if known:
            ranks = first_ranks(q[known], vectors, [holding[i] for i in known])
            out |= {k: v for k, v in accuracy(ranks, DEPTHS).items() if k in FIGURES}
        return {"score": out["em"], **out}

    return score


def answers(reader: T5, reading: Reading, places: list[list[int]], ready: Ready) -> tuple[float, float]:
    """Exact match and F1 of greedy answers from the passages at ``places``, in percent."""
    was = reader.training
    reader.eval()
    em, shared, end, count = 0.0, 0.0, reading.encode("", 1)[-1], len(places)
    with (
        Progress("answering", count, "questions", quiet=ready.job.quiet) as bar,
        torch.inference_mode(),
        ready.job.device.autocast(),
    ):
        for question, row in zip(reading.questions, places, strict=True):
            found = states(reader, [reading.input(question, p) for p in row], ready.job.device)
            said = reading.words.decode(reader.answer(found, end, reading.s.answer_tokens))
            em, shared = em + exact_match(said, question.answers), shared + f1(said, question.answers)
            bar.tick(1)
    reader.train(was)
    return 100 * em / count, 100 * shared / count


def _check(ready: Ready, state: Progressed) -> None:
    """An error where the questions kept back lose; where they gain nothing, it is said."""
    if not state.history:
        return
    before, after = state.history[0], state.history[-1]
    told = ", ".join(f"{f} {before[f]:.1f} → {after[f]:.1f}" for f in FIGURES if f in before)
    helps = ["a lower --learning-rate or --reader-rate"]
    if before["em"] < READS:
        helps.insert(0, "a reader that answers from passages already, which conclave-train fid makes")
    train, held = len(ready.prepared.train), len(ready.prepared.held)
    check_gain(_worth(before), _worth(after), told, held, advise(helps, train, held), ready.job.quiet)
    if after["em"] < before["em"] and not ready.job.quiet:
        say(
            f"the passages found are better, and the answers from all {ready.s.hits} of them are not ({told}): use the "
            "expert with the reader as it was, or let it read fewer passages (--hits)"
        )


def _worth(row: dict[str, float]) -> float:
    """What training is judged by: right answers, and the mean of top-1 and top-20 as everywhere else."""
    return row["em"] + (row.get("top-1", 0.0) + row.get("top-20", 0.0)) / 2


def _figures(state: Progressed) -> dict[str, Mapping[str, float]]:
    if not state.history:
        return {}
    rows = {"before": state.history[0], "after training": state.history[-1]}
    return {name: {f: row[f] for f in FIGURES if f in row} for name, row in rows.items()}


def _over(ready: Ready) -> str:
    return (
        f"{len(ready.prepared.held):,} questions kept back, which chose nothing: greedy answers from the first "
        f"{ready.s.hits} passages found; top-k: an answer in the first k, where some passage holds one."
    )


def _expert_card(ready: Ready, expert: object, state: Progressed) -> Card:
    job, prepared = ready.job, ready.prepared
    assert job.reader
    card = job.card(
        f"An expert for conclave, fine-tuned from {job.base_name} on questions and answers of {{names}}, together with "
        "a T5 that answered from what it found (EMDR²).",
        prepared.checkpoint, prepared.domain, prepared.train, prepared.held,
    )  # fmt: skip
    card.accuracy = _figures(state)
    card.accuracy_over = _over(ready) if state.history else ""
    card.settings = dataclasses.asdict(ready.s) | {"temperature": prepared.temperature}
    card.facts |= {
        "taught by": f"the generator {job.reader.resolve().name}, which learned too",
        "changed": "both encoders" if ready.s.both_sides else "the question encoder alone; passages are the base's",
        "passage template": prepared.template,
        "checkpoint": f"the last of {ready.s.epochs} passes",
    }
    return card


def _write_generator(ready: Ready, model: T5, sha256: str, state: Progressed) -> None:
    """Write the T5 as it is after training, into a folder beside the expert's."""
    job = ready.job
    assert job.reader
    own = FidJob(
        f"{job.name}-generator", job.domains, job.reader, job.out.with_name(f"{job.out.name}-generator"), job.run,
        licence=job.licence, quiet=job.quiet, settings=FidSettings(tokens=ready.s.tokens),
    )  # fmt: skip
    card = Card(
        name=own.name,
        kind=f"A generator for conclave, fine-tuned from {job.reader.resolve().name} on "
        f"{', '.join(d.name for d in job.domains)} together with the retriever {job.name}, whose passages it reads "
        "(EMDR²).",
        licence=job.licence,
        sources=[source for domain in job.domains for source in domain.sources],
        facts={
            "base": f"{job.reader.resolve().name} ({model.c.describe()})",
            "SHA-256 of the base's weights": sha256,
            "passages a question": str(ready.s.hits),
        },
        counts={
            "training questions": f"{len(ready.prepared.train):,}",
            "questions kept back": f"{len(ready.prepared.held):,}",
        },
        accuracy=_figures(state),
        accuracy_over=_over(ready) if state.history else "",
        settings=dataclasses.asdict(ready.s) | {"bf16": job.device.bf16},
        versions=versions(),
    )
    write_generator(own, model, card)
