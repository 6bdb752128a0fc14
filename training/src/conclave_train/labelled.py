"""Making an expert of questions and answers whose passages conclave itself finds, in rounds."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from conclave_train.bundle.manifest import Folder
from conclave_train.data.records import Domain
from conclave_train.errors import Interrupted, NoGainError, TrainingError
from conclave_train.expert import train_marked
from conclave_train.feedback.gain import advise
from conclave_train.feedback.holders import Holders
from conclave_train.feedback.teacher import likelihoods, open_reader
from conclave_train.finding.hits import DEPTH, Extensible, Finder, Hit, Ranking
from conclave_train.finding.labels import Judge, Labelled, label, standing
from conclave_train.finding.program import Collection, Program
from conclave_train.finding.server import Server
from conclave_train.fit.state import RunFolder
from conclave_train.job import Job, divide
from conclave_train.model.checkpoint import read_checkpoint
from conclave_train.progress import Progress, say
from conclave_train.reading.pairs import LONGEST, Pairs

if TYPE_CHECKING:
    from conclave_train.end_to_end import EndToEndJob

KNOWN = 0.5  # of the passages found, this share must be among those given
KIND = (
    "An expert for conclave, fine-tuned from {base} on questions and answers of {names}: nobody said which passages "
    "answer them; conclave found them."
)


def train_labelled(job: EndToEndJob, finder: Finder | None = None) -> Path:
    """Find passages, take those that hold the answers for marked, fine-tune; in rounds; the bundle's folder.

    ``finder`` finds them; None: what the job names. The last round's expert is written only where the questions kept
    back gain by it: in the whole answer with the expert added, or where a server was asked, by the expert alone.
    """
    job.settings.check()
    if job.settings.both_sides or job.settings.refit_reader:
        raise TrainingError("--both-sides, --refit-reader: they are of the other way; add --way feedback")
    if job.settings.warm_ups():
        raise TrainingError("--warm-up: it is for --way feedback, and for a T5; the collection finds without it")
    rounds = job.settings.rounds
    asked = tuple(
        dataclasses.replace(d, questions=[q for q in d.questions if any(a.strip() for a in q.answers)])
        for d in job.expert().domains
    )
    if not any(d.questions for d in asked):
        raise TrainingError("no question has answers: they tell which of the passages found answer it")
    whole = dataclasses.replace(job, domains=asked).whole()
    finder = finder or _finder(job, whole)
    if rounds > 1 and not isinstance(finder, Extensible):
        raise TrainingError("--rounds: the expert cannot be added to what a server searches: give --collection")
    identity = job.identity(
        read_checkpoint(job.base), whole, job.settings.of_way(), kind="labels", finder=finder.identity(),
        reader=str(job.reader) if job.reader else "", template=job.template,
        ensemble=job.ensemble and dataclasses.asdict(job.ensemble),
    )  # fmt: skip
    folder = RunFolder(job.run, identity, job.fresh)
    if isinstance(finder, Collection):
        finder.make(whole.passages)
    holders, expert = Holders(whole.passages, job.settings.most_common), job.expert()
    current = finder
    for number in range(1, rounds + 1):
        rankings = _rankings(current, whole, folder, f"found-{number}.json")
        judge = _judge(job, whole, folder.within(f"judge-{number}")) if job.reader else None
        labelled = label(whole, rankings, holders, job.settings.hits, expert.settings.depth, judge)
        if not job.quiet:
            say(f"{job.name}: {labelled.describe()}")
        if labelled.count < 4:
            raise TrainingError(f"{labelled.describe()}: too few. {_advice(job, labelled)}")
        expert = _with_all_for_measuring(dataclasses.replace(expert, domains=_parts(asked, labelled)), labelled)
        bundle = _train(job, expert, number, labelled, current)
        if number < rounds and isinstance(finder, Extensible):
            current = finder.with_expert(bundle, job.name)
    if isinstance(finder, Extensible):
        _check_gain(job, expert, labelled, holders, finder, bundle)
    with Folder(job.out) as made:
        made.adopt(bundle)
    return job.wrote(job.out)


def _finder(job: EndToEndJob, whole: Domain) -> Finder:
    """What the job names: a server, a collection, or else one that is made of the passages in the run's folder."""
    if job.url and job.collection:
        raise TrainingError("--collection, --url: give one of them, whichever has these passages")
    if job.url:
        return Server(job.url, job.stop, job.quiet)
    program = Program(job.program, job.stop)
    program.found()
    return Collection(program, job.collection, job.run / "found", job.base, quiet=job.quiet)


def _parts(domains: Sequence[Domain], labelled: Labelled) -> tuple[Domain, ...]:
    """The labelled questions of each domain by itself, since a hold-out and a limit are of each."""
    made, out = iter(labelled.questions), []
    for d in domains:
        own = [next(made) for _ in d.questions]
        out.append(dataclasses.replace(d, questions=[q for q in own if q is not None]))
    return tuple(out)


def _with_all_for_measuring(expert: Job, labelled: Labelled) -> Job:
    """The job whose questions kept back have every passage found that holds an answer as a positive.

    The label alone would favour whoever found it: it is the first of these in what was searched.
    """
    s = expert.settings
    held = {id(q) for q in divide(expert.domains, s.hold_out, s.hold_out_most, s.limit)[1]}
    all = {
        id(q): dataclasses.replace(q, positives=tuple(dict.fromkeys((*q.positives, *holding))))
        for q, holding in zip(labelled.questions, labelled.holding, strict=True)
        if q is not None and id(q) in held
    }
    return dataclasses.replace(
        expert,
        domains=tuple(
            dataclasses.replace(d, questions=[all.get(id(q), q) for q in d.questions]) for d in expert.domains
        ),
    )


def _rankings(finder: Finder, whole: Domain, folder: RunFolder, name: str) -> list[Ranking]:
    """What is found for all questions; the run's folder keeps it."""
    kept = folder.read_json(name)
    if kept is not None:
        return [[Hit(id, score) for id, score in ranking] for ranking in kept]
    rankings = finder.rankings([q.text for q in whole.questions], DEPTH)
    found = [hit.id in whole.index for ranking in rankings for hit in ranking[:10]]
    if not found or sum(found) < KNOWN * len(found):
        raise TrainingError(
            f"of the first ten passages that {finder.describe()} finds, {sum(found):,} of {len(found):,} are among the "
            "passages given here, by their ids: ask a collection of the same passages, or leave out --collection and "
            "--url, and one is made"
        )
    folder.write_json(name, [[[hit.id, hit.score] for hit in ranking] for ranking in rankings])
    return rankings


def _judge(job: EndToEndJob, whole: Domain, folder: RunFolder) -> Judge:
    """What the reader says of pairs, kept in the run's folder."""
    assert job.reader
    checkpoint = read_checkpoint(job.base)
    given = open_reader(job.reader, checkpoint, job.domains)
    reader, size = given.reader.to(job.device.name).eval(), job.settings.chunk
    pairs = Pairs(checkpoint.tokens, [q.text for q in whole.questions], whole.passages, given.question_tokens)
    longest = min(LONGEST, reader.tower.config.max_position_embeddings)

    def judge(wanted: list[tuple[int, int]]) -> list[float]:
        said: list[float] = folder.load_part("said.pt") or []
        with Progress("reading", len(wanted), "passages", len(said), quiet=job.quiet, saves=True) as bar:
            while len(said) < len(wanted):
                if job.stop():
                    raise Interrupted(
                        f"stopped after {len(said)} of {len(wanted)} passages read; the same command goes on"
                    )
                some = wanted[len(said) : len(said) + 8 * size]
                made = [pairs.pair(i, p, longest, whole.questions[i].answers) for i, p in some]
                said += likelihoods(reader, made, pairs, job.device, size).tolist()
                folder.save_part("said.pt", said)
                bar.tick(len(some))
        return said

    return judge


def _train(job: EndToEndJob, expert: Job, number: int, labelled: Labelled, finder: Finder) -> Path:
    """The expert of a round, in the run's folder."""
    run = job.run / f"round-{number}"
    own = dataclasses.replace(expert, out=run / "expert", run=run / "training", ensemble=job.ensemble)
    counts = {
        "questions whose passage was found": f"{labelled.count:,} of {labelled.asked:,}",
        "of these, questions with an answer in several of the first passages": f"{labelled.ambiguous:,}",
    }
    facts = {"passages found by": finder.describe(), "round": f"{number} of {job.settings.rounds}"}
    if job.reader:
        counts["of these, questions whose passage the reader chose before the first"] = f"{labelled.changed:,}"
        facts["judged by"] = f"the reader {job.reader.resolve().name}"
    try:
        return train_marked(own, KIND, counts, facts)
    except NoGainError as error:
        raise NoGainError(
            f"the encoder alone finds no more after training than the base, for the questions kept back: no expert is "
            f"written. {_advice(job, labelled)}"
        ) from error


def _check_gain(
    job: EndToEndJob, expert: Job, labelled: Labelled, holders: Holders, finder: Extensible, bundle: Path
) -> None:
    """Compare the whole answer with and without the expert, for the questions kept back; an error without a gain.

    Every passage that holds an answer counts as right: those of the labels stand high without the expert already,
    since they were taken from what was found.
    """
    s = expert.settings
    _, held, _ = divide(expert.domains, s.hold_out, s.hold_out_most, s.limit)
    if not held:
        if not job.quiet:
            say("no question is kept back: whether the whole answer gains is not known")
        return
    passages = expert.whole().passages
    wanted = [{passages[p].id for p in holders(q.answers)} for q in held]
    texts = [q.text for q in held]
    without = standing(finder.rankings(texts, DEPTH), wanted)
    after = standing(finder.with_expert(bundle, job.name).rankings(texts, DEPTH), wanted)
    told = ", ".join(f"{name} {without[name]:.1f} → {after[name]:.1f}" for name in without)
    if not job.quiet:
        say(f"the whole answer, for {len(held):,} questions kept back, without and with {job.name}: {told}")
    if after["mrr@10"] + after["top-20"] <= without["mrr@10"] + without["top-20"]:
        raise NoGainError(
            f"the whole answer gains nothing from the expert, for the {len(held):,} questions kept back ({told}): no "
            f"expert is written. {_advice(job, labelled, len(held))}"
        )


def _advice(job: EndToEndJob, labelled: Labelled, held: int | None = None) -> str:
    """What would help, by what was lost most; ``held`` questions said that nothing was gained."""
    count = labelled.count
    said = []
    if labelled.nowhere > 0.3 * labelled.asked:
        said.append(
            f"answers in the passages' own words ({labelled.nowhere:,} of {labelled.asked:,} are in no passage, or in "
            "too many: --most-common)"
        )
    if labelled.ambiguous > 0.3 * count:
        judge = "" if job.reader else ", or a reader that judges (--reader)"
        said.append(
            f"longer answers{judge}: {labelled.ambiguous:,} of {count:,} questions have an answer in several of the "
            "passages found"
        )
    return advise(said, count, held)
