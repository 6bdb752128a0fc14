"""How a DESIRE-ME head is trained."""

from __future__ import annotations

from dataclasses import dataclass

from conclave_train.errors import TrainingError
from conclave_train.settings import flag, option


@dataclass(frozen=True)
class DesireMeSettings:
    """How a DESIRE-ME head is trained."""

    epochs: int = option(6, "passes over the questions; the best is chosen on those kept back")
    betas: str = option("0.4,0.8", "lengths of the context where a gate is wide open, of which one is chosen")
    gate_epochs: int = option(3, "passes over the questions that train the gate")
    nearest: int = option(
        1, "a question is also of the domains of so many passages that the base finds beside its answers"
    )
    nonsense: float = option(0.1, "texts that ask nothing, as a share of the questions, of no domain for the gate")
    refuse: float = option(
        0.9, "gates are lowered until this share of a domain's questions is foreign where it is left out; 0: they stay"
    )
    batch: int = option(256, "questions in a batch (paper: 512)")
    learning_rate: float = option(1e-3, "peak learning rate (paper: 1e-5, its code: 1e-4)")
    weight_decay: float = option(0.01, "AdamW's weight decay")
    temperature: float = option(0.0, "scores are divided by it; 0: 0.05 for unit-length vectors, else 1")
    hard: int = option(2, "hard negatives per question (paper: none)")
    depth: int = option(30, "they are drawn from the first so many that the base finds")
    answer_filter: bool = option(True, "passages that contain an answer are no negatives")
    seed: int = option(13, "decides first weights, batches and negatives")
    max_passage_tokens: int = option(256, "passages are cut here, as the base cuts them in service")
    limit: int = option(0, "train on at most so many questions per domain, chosen by hash; 0: all")
    pool: int = option(0, "search so many passages: the answers, and others chosen by hash; 0: all")
    hold_out: float = option(0.1, "share of the questions kept for choosing")
    hold_out_most: int = option(1000, "and at most so many")

    def check(self) -> None:
        """Impossible values are errors that name the option."""
        for name in "epochs gate_epochs batch learning_rate depth hold_out_most".split():
            if getattr(self, name) <= 0:
                raise TrainingError(f"{flag(name)}: {getattr(self, name)} is not positive")
        for name in ("weight_decay", "temperature", "hard", "limit", "pool", "seed", "nonsense", "nearest"):
            if getattr(self, name) < 0:
                raise TrainingError(f"{flag(name)}: {getattr(self, name)} is negative")
        if not 0 < self.hold_out < 1:
            raise TrainingError(f"--hold-out: {self.hold_out} is not between 0 and 1: beta and epoch are chosen on it")
        if not 0 <= self.refuse < 1:
            raise TrainingError(f"--refuse: {self.refuse} is not at least 0 and below 1")
        if self.max_passage_tokens < 8:
            raise TrainingError(f"--max-passage-tokens: {self.max_passage_tokens}; at least 8 are needed")
        self.lengths()

    def lengths(self) -> list[float]:
        """The values of beta to choose from."""
        try:
            found = [float(b) for b in self.betas.split(",")]
        except ValueError:
            raise TrainingError(f"--betas: {self.betas!r} is no list of numbers, such as 0.2,0.4") from None
        if not all(0 < b < 100 for b in found):
            raise TrainingError(f"--betas: {self.betas!r} holds a number that is not above 0 and below 100")
        return found
