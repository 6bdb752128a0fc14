"""The gate of a head: trained on questions of the domains and of none, and lowered until a domain left out is foreign.

Shapes: Q questions, F foreign ones, D the vectors' length, M domains.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from string import ascii_lowercase

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from conclave_train.desire_me.head import Head
from conclave_train.desire_me.settings import DesireMeSettings
from conclave_train.errors import Interrupted, TrainingError
from conclave_train.fit.schedule import rate
from conclave_train.progress import Progress

FOREIGN = 0.3  # a question whose gates are all below this is of no domain


@dataclass(frozen=True)
class Gated:
    """What a gate is trained on: questions [Q,D] with their domains [Q,M], and questions of no domain [F,D]."""

    questions: Tensor
    labels: Tensor
    foreign: Tensor

    def without(self, domain: int) -> Gated:
        """The questions that are not of ``domain``, and the domains but that."""
        others = [m for m in range(self.labels.shape[1]) if m != domain]
        rows = self.labels[:, domain] == 0
        return Gated(self.questions[rows], self.labels[rows][:, others], self.foreign)

    def only(self, domain: int) -> Tensor:
        """The questions of ``domain`` and of no other one [.,D]."""
        return self.questions[(self.labels[:, domain] == 1) & (self.labels.sum(1) == 1)]


def fit_gate(
    head: Head,
    examples: Gated,
    settings: DesireMeSettings,
    stop: Callable[[], bool] = lambda: False,
    quiet: bool = False,
    label: str = "gate",
) -> None:
    """Train the gate of ``head`` in place: binary cross entropy, of a foreign question with no domain."""
    s = settings
    questions = torch.cat([examples.questions, examples.foreign])
    labels = torch.cat([examples.labels, torch.zeros(len(examples.foreign), examples.labels.shape[1])])
    adam = torch.optim.AdamW(head.gate(), lr=s.learning_rate, weight_decay=s.weight_decay, eps=1e-8)
    batch = min(s.batch, len(questions))
    steps = len(questions) // batch
    total, done = s.gate_epochs * steps, 0
    with Progress(label, total, "steps", quiet=quiet, saves=True) as bar:
        for epoch in range(s.gate_epochs):
            order = torch.from_numpy(np.random.default_rng([s.seed, epoch]).permutation(len(questions)))
            for rows in torch.split(order[: steps * batch], batch):
                if stop():
                    raise Interrupted(f"stopped while the {label} was trained; the same command begins it again")
                for group in adam.param_groups:
                    group["lr"] = s.learning_rate * rate(done, total, min(100, total // 10))
                value = F.binary_cross_entropy_with_logits(head.logits(questions[rows]), labels[rows])
                adam.zero_grad(set_to_none=True)
                value.backward()  # type: ignore[no-untyped-call]
                adam.step()
                done += 1
                bar.tick(1, f"loss {float(value.detach()):.4f}")
                if not math.isfinite(float(value.detach())):
                    raise TrainingError("the loss is not finite: lower --learning-rate")


def surplus(
    new: Callable[[int], Head],
    examples: Gated,
    settings: DesireMeSettings,
    stop: Callable[[], bool] = lambda: False,
    quiet: bool = False,
) -> float:
    """How much too high the logits of a gate are for questions of a domain that it never saw; at least 0.

    Each domain is left out in turn, and its questions are asked of a gate that was trained on the others: of the share
    ``refuse`` of all these questions, where each domain counts alike, the largest gate has to be below ``FOREIGN``.
    ``new`` makes a head of so many domains. With fewer than three there are none to be told apart where one is left
    out.
    """
    count = examples.labels.shape[1]
    if count < 3 or settings.refuse == 0:
        return 0.0
    largest, weights = [], []
    for domain in range(count):
        own = examples.only(domain)
        if not len(own):
            continue
        head = new(count - 1)
        fit_gate(head, examples.without(domain), settings, stop, quiet, f"gate without domain {domain + 1} of {count}")
        with torch.inference_mode():
            largest.append(head.logits(own).max(1).values)
        weights.append(torch.full((len(own),), 1 / len(own)))
    if not largest:
        return 0.0
    found, order = torch.cat(largest).sort()
    below = torch.cat(weights)[order].cumsum(0) / len(largest)
    level = found[min(int(torch.searchsorted(below, settings.refuse)), len(found) - 1)]
    return max(0.0, float(level) - math.log(FOREIGN / (1 - FOREIGN)))


def lower(head: Head, by: float) -> None:
    """Take ``by`` from the logits of every gate."""
    with torch.no_grad():
        head.gate_biases[-1] -= by


def refused(head: Head, questions: Tensor) -> NDArray[np.bool_]:
    """Which questions are of no domain, by the gate [.]."""
    with torch.inference_mode():
        out: NDArray[np.bool_] = (head.logits(questions).sigmoid().max(1).values < FOREIGN).numpy()
    return out


def nonsense(texts: Sequence[str], count: int, seed: int) -> list[str]:
    """Texts that ask nothing: words of all questions in any order, and words that are none."""
    drawn = random.Random(seed)
    words = sorted({word for text in texts for word in text.split()})
    out = []
    for number in range(count):
        length = drawn.randint(2, 14)
        if number % 2:
            out.append(" ".join(drawn.choice(words) for _ in range(length)))
        else:
            out.append(" ".join("".join(drawn.choices(ascii_lowercase, k=drawn.randint(2, 9))) for _ in range(length)))
    return out
