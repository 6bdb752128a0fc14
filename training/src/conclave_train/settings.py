"""Settings as frozen dataclasses: defaults, help, and the command line's options from one place."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, get_type_hints

from conclave_train.errors import TrainingError

T = TypeVar("T")


def option(default: Any, help: str, choices: Sequence[str] | None = None) -> Any:
    """A dataclass field with its help text."""
    return field(default=default, metadata={"help": help, "choices": choices})


@dataclass(frozen=True)
class ExpertSettings:
    """How an expert is fine-tuned."""

    epochs: int = option(2, "passes over the questions")
    batch: int = option(32, "questions in a batch; with --cache-gradients, memory does not limit it")
    learning_rate: float = option(3e-5, "peak learning rate (DPR: 2e-5)")
    warm_up: float = option(0.1, "steps of linear warm-up; below 1, a share of all steps (DPR: 1237)")
    weight_decay: float = option(0.0, "AdamW's weight decay, biases and norms apart")
    max_norm: float = option(2.0, "gradients are scaled to this norm at most")
    temperature: float = option(0.0, "scores are divided by it; 0: 0.05 for unit-length vectors, else 1 (DPR)")
    seed: int = option(13, "decides batches, dropout and mining")
    dropout: float = option(0.0, "dropout; -1: the checkpoint's (its random numbers take a third of the time on a CPU)")
    towers: str = option("tied", "one encoder for both sides, or one each", ("tied", "two"))
    update: str = option("full", "train all weights, or low-rank factors (LoRA)", ("full", "low-rank"))
    rank: int = option(16, "rank of the delta, and of low-rank training")
    alpha: float = option(32.0, "scale of low-rank training: the update is (alpha/rank)·up·down")
    targets: str = option(
        "query,key,value,attention.output,intermediate,output", "layers that low-rank training changes"
    )
    embeddings: str = option("frozen", "embedding tables; a delta cannot carry trained ones", ("frozen", "trained"))
    negatives: str = option(
        "auto",
        "hard negatives: the data's where it names some, else BM25's; or one kind",
        ("auto", "bm25", "given", "none"),
    )
    hard: int = option(1, "hard negatives per question and batch")
    depth: int = option(20, "hard negatives are drawn from the first so many found")
    mine_at: str = option("", "epochs (from 1, comma-separated) before which the model mines negatives itself")
    ceiling: float = option(0.95, "self-mined passages that score above this share of the positive are left out")
    answer_filter: bool = option(True, "passages that contain an answer are no negatives")
    question_tokens: int = option(64, "questions are cut here in training")
    passage_tokens: int = option(128, "passages are cut here in training")
    batches: str = option("mixed", "whether a batch may mix domains", ("mixed", "by-domain"))
    cache_gradients: bool = option(False, "compute batches in chunks, for large batches in small memory")
    chunk: int = option(32, "texts computed at a time")
    limit: int = option(0, "train on at most so many questions per domain, chosen by hash; 0: all")
    hold_out: float = option(0.1, "share of the questions kept for choosing the checkpoint and for calibration")
    hold_out_most: int = option(600, "and at most so many")
    select_passages: int = option(2000, "passages to choose the checkpoint over; those that matter are always in")
    save_every: int = option(100, "steps between saves")

    def check(self) -> None:
        """Impossible values are errors that name the option."""
        positive = (
            "epochs batch learning_rate max_norm rank alpha depth question_tokens passage_tokens chunk "
            "hold_out_most select_passages save_every"
        )
        for name in positive.split():
            if getattr(self, name) <= 0:
                raise TrainingError(f"{flag(name)}: {getattr(self, name)} is not positive")
        for name in ("warm_up", "weight_decay", "temperature", "hard", "limit", "seed"):
            if getattr(self, name) < 0:
                raise TrainingError(f"{flag(name)}: {getattr(self, name)} is negative")
        if self.dropout >= 1:
            raise TrainingError(f"--dropout: {self.dropout} is not below 1")
        if not 0 <= self.hold_out < 1:
            raise TrainingError(f"--hold-out: {self.hold_out} is not between 0 and 1")
        if self.hard and self.negatives == "none":
            raise TrainingError("--hard: without negatives it must be 0 (--negatives none --hard 0)")
        if min(self.question_tokens, self.passage_tokens) < 8:
            raise TrainingError("--question-tokens, --passage-tokens: at least 8 are needed")
        self.mining_epochs()

    def mining_epochs(self) -> frozenset[int]:
        """The epochs, from 0, before which negatives are mined with the model."""
        try:
            epochs = frozenset(int(e) - 1 for e in self.mine_at.split(",") if e.strip())
        except ValueError:
            raise TrainingError(f"--mine-at: {self.mine_at!r} is no list of epochs, such as 2,3") from None
        if epochs and not 0 <= min(epochs) <= max(epochs) < self.epochs:
            raise TrainingError(f"--mine-at: {self.mine_at!r} names an epoch outside 1 to {self.epochs}")
        return epochs


@dataclass(frozen=True)
class EnsembleSettings:
    """How an ensemble is trained on frozen vectors; ``PAPER`` has the paper's values."""

    members: int = option(10, "members of the ensemble (K; paper: 20)")
    hidden: int = option(32, "units of a hidden layer (paper: 512)")
    ensemble_epochs: int = option(4, "passes of each member over its questions, at most (paper: 100)")
    ensemble_batch: int = option(128, "questions in a member's sub-batch")
    ensemble_rate: float = option(1e-3, "learning rate (paper: 2e-5)")
    ensemble_warm_up: int = option(100, "steps of warm-up, at most a fifth of all")
    ensemble_temperature: float = option(0.0, "scores are divided by it; 0: 0.05 for unit-length vectors, else 1")
    ensemble_norm: float = option(2.0, "gradients are scaled to this norm at most")
    ensemble_hard: int = option(0, "hard negatives per question, beside the other questions' passages (paper: 1)")
    ensemble_negatives: str = option("own", "they are what the expert itself finds, or BM25", ("own", "bm25"))
    ensemble_deviation: float = option(0.0, "deviation of normal first weights; 0: uniform (paper)")
    ensemble_best: bool = option(False, "keep the epoch of the lowest loss on questions kept back (paper)")
    ensemble_seed: int = option(12345, "decides initial weights and sub-batches")
    share: float = option(1.0, "share of the questions that each member may see, chosen per member (paper: 1)")
    residual: bool = option(True, "members add to the question's vector instead of replacing it (paper: no)")
    calibration_depth: int = option(100, "first hits that the confidence is measured over")

    def check(self) -> None:
        """Impossible values are errors that name the option."""
        for name in ["members", "hidden", "ensemble_epochs", "ensemble_batch", "ensemble_rate", "ensemble_norm"]:
            if getattr(self, name) <= 0:
                raise TrainingError(f"{flag(name)}: {getattr(self, name)} is not positive")
        for name in ["ensemble_hard", "ensemble_deviation", "ensemble_temperature"]:
            if getattr(self, name) < 0:
                raise TrainingError(f"{flag(name)}: {getattr(self, name)} is negative")
        if not 0 < self.share <= 1:
            raise TrainingError(f"--share: {self.share} is not above 0 and at most 1")
        if self.calibration_depth < 2:
            raise TrainingError(f"--calibration-depth: {self.calibration_depth}; at least 2 hits are needed")


@dataclass(frozen=True)
class LateSettings:
    """How the head of a late expert is trained on the states of a frozen base."""

    dimension: int = option(64, "numbers in a token's vector: a multiple of 4, at most 256")
    epochs: int = option(3, "passes over the questions")
    batch: int = option(16, "questions in a batch")
    learning_rate: float = option(1e-3, "peak learning rate of the projection")
    importance_rate: float = option(3e-3, "peak learning rate of the importances and of the scores' scale")
    warm_up: int = option(50, "steps of linear warm-up, at most a fifth of all")
    seed: int = option(13, "decides batches and negatives")
    negatives_per_question: int = option(24, "wrong passages that each question's own is told from")
    bm25_share: float = option(0.5, "share of them that BM25 finds (or the data names); the rest the base finds")
    depth: int = option(60, "negatives are drawn from the first so many of each")
    answer_filter: bool = option(True, "passages that contain an answer are no negatives")
    max_question_tokens: int = option(64, "questions are cut here, in training and in service")
    max_passage_tokens: int = option(256, "passages are cut here, in training and in service")
    limit: int = option(0, "train on at most so many questions per domain, chosen by hash; 0: all")
    pool: int = option(0, "train over so many passages: the answers, and others chosen by hash; 0: all")
    hold_out: float = option(0.1, "share of the questions kept for the card's figures")
    hold_out_most: int = option(600, "and at most so many")
    save_every: int = option(100, "steps between saves")

    def check(self) -> None:
        """Impossible values are errors that name the option."""
        for (
            name
        ) in "epochs batch learning_rate importance_rate negatives_per_question depth hold_out_most save_every".split():
            if getattr(self, name) <= 0:
                raise TrainingError(f"{flag(name)}: {getattr(self, name)} is not positive")
        for name in ("warm_up", "limit", "pool", "seed"):
            if getattr(self, name) < 0:
                raise TrainingError(f"{flag(name)}: {getattr(self, name)} is negative")
        if not 0 <= self.bm25_share <= 1:
            raise TrainingError(f"--bm25-share: {self.bm25_share} is not between 0 and 1")
        if not 0 <= self.hold_out < 1:
            raise TrainingError(f"--hold-out: {self.hold_out} is not between 0 and 1")
        if min(self.max_question_tokens, self.max_passage_tokens) < 8:
            raise TrainingError("--max-question-tokens, --max-passage-tokens: at least 8 are needed")


@dataclass(frozen=True)
class ReaderSettings:
    """How a reader is trained."""

    epochs: int = option(2, "passes over the questions")
    batch: int = option(4, "questions in a batch, each with its passages (DPR: 16)")
    learning_rate: float = option(5e-5, "peak learning rate of the encoder (DPR: 1e-5 for a larger one)")
    head_rate: float = option(1e-3, "peak learning rate of the heads")
    warm_up: float = option(0.05, "share of the steps with linear warm-up")
    max_norm: float = option(1.0, "gradients are scaled to this norm at most")
    seed: int = option(13, "decides batches, dropout, negatives and the heads' beginning")
    dropout: float = option(0.0, "dropout; -1: the checkpoint's (its random numbers take a third of the time on a CPU)")
    freeze: int = option(0, "lowest layers that stay the base's, for speed and a smaller delta")
    rank: int = option(64, "rank of the delta")
    negatives_per_question: int = option(7, "passages without an answer beside each question's own (DPR: 23)")
    depth: int = option(20, "they are drawn from the first so many found")
    max_question_tokens: int = option(64, "questions are cut here, in training and in service")
    tokens: int = option(256, "question, title and text together are cut here in training")
    chunk: int = option(16, "pairs computed at a time")
    limit: int = option(0, "train on at most so many questions per domain, chosen by hash; 0: all")
    hold_out: float = option(0.1, "share of the questions kept for the card's figures")
    hold_out_most: int = option(600, "and at most so many")
    save_every: int = option(100, "steps between saves")

    def check(self) -> None:
        """Impossible values are errors that name the option."""
        positive = (
            "epochs batch learning_rate head_rate max_norm rank negatives_per_question depth chunk "
            "hold_out_most save_every"
        )
        for name in positive.split():
            if getattr(self, name) <= 0:
                raise TrainingError(f"{flag(name)}: {getattr(self, name)} is not positive")
        for name in ("freeze", "limit", "seed"):
            if getattr(self, name) < 0:
                raise TrainingError(f"{flag(name)}: {getattr(self, name)} is negative")
        for name in ("warm_up", "hold_out"):
            if not 0 <= getattr(self, name) < 1:
                raise TrainingError(f"{flag(name)}: {getattr(self, name)} is not between 0 and 1")
        if self.dropout >= 1:
            raise TrainingError(f"--dropout: {self.dropout} is not below 1")
        if self.max_question_tokens < 8:
            raise TrainingError(f"--max-question-tokens: {self.max_question_tokens}; at least 8 are needed")
        if self.depth < self.negatives_per_question:
            raise TrainingError(f"--negatives-per-question: {self.negatives_per_question} need a larger --depth")


@dataclass(frozen=True)
class FidSettings:
    """How a generator is trained."""

    epochs: int = option(3, "passes over the questions (EMDR2: 10)")
    batch: int = option(8, "questions in a batch, each with its passages (EMDR2: 64)")
    passages_per_question: int = option(10, "passages that a question meets, one of which answers it (K; EMDR2: 50)")
    learning_rate: float = option(1e-4, "peak learning rate (EMDR2: 2e-5)")
    warm_up: float = option(0.05, "share of the steps with linear warm-up")
    max_norm: float = option(1.0, "gradients are scaled to this norm at most")
    seed: int = option(13, "decides batches, dropout, passages and answers")
    dropout: float = option(0.1, "dropout")
    depth: int = option(50, "passages without an answer are drawn from the first so many found")
    tokens: int = option(250, "question, title and text together are cut here, in training and in service")
    answer_tokens: int = option(32, "answers are cut here")
    chunk: int = option(16, "passages computed at a time: fewer need less memory, more are faster")
    limit: int = option(0, "train on at most so many questions per domain, chosen by hash; 0: all")
    hold_out: float = option(0.1, "share of the questions kept for the card's figures")
    hold_out_most: int = option(600, "and at most so many")
    save_every: int = option(100, "steps between saves")

    def check(self) -> None:
        """Impossible values are errors that name the option."""
        positive = "epochs batch passages_per_question learning_rate max_norm depth chunk hold_out_most save_every"
        for name in positive.split():
            if getattr(self, name) <= 0:
                raise TrainingError(f"{flag(name)}: {getattr(self, name)} is not positive")
        for name in ("limit", "seed"):
            if getattr(self, name) < 0:
                raise TrainingError(f"{flag(name)}: {getattr(self, name)} is negative")
        for name in ("warm_up", "hold_out", "dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise TrainingError(f"{flag(name)}: {getattr(self, name)} is not between 0 and 1")
        if self.tokens < 16 or self.answer_tokens < 2:
            raise TrainingError("--tokens, --answer-tokens: at least 16 and 2 are needed")


@dataclass(frozen=True)
class EndToEndSettings:
    """How a retriever learns from questions and answers alone."""

    way: str = option(
        "labels", "learn from the passages that conclave finds, as from marked ones; or from a reader's feedback",
        ("labels", "feedback"),
    )  # fmt: skip
    rounds: int = option(1, "labels: how often passages are found; from the second time on, by the new expert too")
    objective: str = option(
        "emdr2", "feedback: marginal likelihood of the answer, divergence from the posterior, or no feedback (a T5's)",
        ("emdr2", "kl", "alt-1"),
    )  # fmt: skip
    marginal: str = option(
        "sequence", "a T5's p(a|q,z) is the whole answer's (the paper), or each token's (its code)",
        ("sequence", "tokens"),
    )  # fmt: skip
    hits: int = option(20, "passages found that a reader judges (K; the paper's: 50)")
    epochs: int = option(0, "passes over the questions, before each of which feedback searches anew; 0: 2, feedback: 4")
    batch: int = option(0, "questions in a batch; 0: 32, feedback: 16")
    learning_rate: float = option(3e-5, "peak learning rate (the paper's: 2e-5)")
    warm_up: str = option(
        "", "feedback, before the questions, on sentences of the passages: ict (taken out), mss (with a span masked)"
    )
    warm_up_epochs: int = option(1, "passes over these sentences")
    reader_rate: float = option(1e-4, "peak learning rate of a T5 (the paper's: 2e-5)")
    rate_warm_up: float = option(0.05, "share of the steps with linear warm-up of the learning rates")
    max_norm: float = option(2.0, "gradients are scaled to this norm at most")
    temperature: float = option(0.0, "scores are divided by it; 0: 0.05 for unit-length vectors, else 1")
    seed: int = option(13, "decides batches and dropout")
    dropout: float = option(0.0, "dropout; -1: the checkpoint's")
    rank: int = option(16, "rank of the delta")
    refresh: int = option(
        500, "a T5 and --both-sides: steps after which the passages are encoded anew, beside training"
    )
    tokens: int = option(250, "a T5: question, title and text together are cut here, in training and in service")
    answer_tokens: int = option(32, "a T5: answers are cut here")
    both_sides: bool = option(
        False, "feedback: train the passages' encoder too; passages are encoded anew in every round"
    )
    refit_reader: bool = option(
        False, "feedback: train the reader too, after each round, and write it beside the expert"
    )
    most_common: float = option(0.05, "an answer that a larger share of the passages hold is left out")
    question_tokens: int = option(64, "questions are cut here in training")
    passage_tokens: int = option(128, "passages are cut here in training")
    chunk: int = option(32, "texts computed at a time")
    limit: int = option(0, "train on at most so many questions per domain, chosen by hash; 0: all")
    hold_out: float = option(0.1, "share of the questions kept for measuring")
    hold_out_most: int = option(600, "and at most so many")
    select_passages: int = option(2000, "labels: passages to choose the checkpoint over; those that matter are in")
    save_every: int = option(100, "steps between saves")

    def of_way(self) -> EndToEndSettings:
        """The same with the values of its way in place of zeros."""
        epochs, batch = (2, 32) if self.way == "labels" else (4, 16)
        return dataclasses.replace(self, epochs=self.epochs or epochs, batch=self.batch or batch)

    def warm_ups(self) -> tuple[str, ...]:
        """What warms the models up, in this order."""
        named = tuple(name.strip() for name in self.warm_up.split(",") if name.strip())
        if unknown := [name for name in named if name not in ("ict", "mss")]:
            raise TrainingError(
                f"--warm-up: {unknown[0]!r} is neither ict nor mss (the learning rates' is --rate-warm-up)"
            )
        return named

    def expert(self) -> ExpertSettings:
        """The settings that fine-tuning an expert has too."""
        whole = self.of_way()
        own = {f.name for f in dataclasses.fields(self)}
        names = [f.name for f in dataclasses.fields(ExpertSettings) if f.name in own and f.name != "warm_up"]
        shared = {name: getattr(whole, name) for name in names}
        towers = "tied" if self.way == "labels" else "two"
        return ExpertSettings(**shared, warm_up=self.rate_warm_up, towers=towers)

    def check(self) -> None:
        """Impossible values are errors that name the option."""
        self.expert().check()
        self.warm_ups()
        for name in ("rounds", "reader_rate", "refresh", "warm_up_epochs"):
            if getattr(self, name) <= 0:
                raise TrainingError(f"{flag(name)}: {getattr(self, name)} is not positive")
        if self.tokens < 16 or self.answer_tokens < 2:
            raise TrainingError("--tokens, --answer-tokens: at least 16 and 2 are needed")
        if self.hits < 2:
            raise TrainingError(f"--hits: {self.hits}; at least 2 are needed to tell one from another")
        if not 0 < self.most_common <= 1:
            raise TrainingError(f"--most-common: {self.most_common} is not above 0 and at most 1")


PAPER = EnsembleSettings(
    members=20, hidden=512, ensemble_epochs=100, ensemble_rate=2e-5, ensemble_temperature=1.0, ensemble_hard=1,
    ensemble_negatives="bm25", ensemble_best=True, residual=False, calibration_depth=1000,
)  # fmt: skip


def flag(name: str) -> str:
    """A field's option on the command line."""
    return "--" + name.replace("_", "-")


def add_options(parser: argparse.ArgumentParser, settings: type[Any], title: str) -> None:
    """An option for every field of the dataclass ``settings``."""
    group = parser.add_argument_group(title)
    types = get_type_hints(settings)
    for f in dataclasses.fields(settings):
        help = f"{f.metadata['help']} (default: {f.default})".replace("%", "%%")
        if types[f.name] is bool:
            group.add_argument(flag(f.name), action=argparse.BooleanOptionalAction, default=f.default, help=help)
        else:
            group.add_argument(
                flag(f.name), type=types[f.name], default=f.default, choices=f.metadata["choices"], help=help,
                metavar=None if f.metadata["choices"] else types[f.name].__name__.upper(),
            )  # fmt: skip


def from_options(settings: type[T], options: argparse.Namespace) -> T:
    """The dataclass with the options' values."""
    return settings(**{f.name: getattr(options, f.name) for f in dataclasses.fields(settings)})  # type: ignore[arg-type]
