"""Training the members on frozen vectors."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from conclave_train.data.records import Domain, Question
from conclave_train.errors import Interrupted, TrainingError
from conclave_train.fit.batches import Batches
from conclave_train.fit.schedule import rate
from conclave_train.fit.state import RunFolder
from conclave_train.muf.members import Members, ensemble_loss
from conclave_train.progress import Progress
from conclave_train.settings import EnsembleSettings

STATE = "ensemble.pt"


@dataclass(frozen=True)
class Frozen:
    """Vectors of the questions [Q,D] and of all passages [N,D] by the expert as it is served."""

    questions: Tensor
    passages: Tensor


def fit_members(
    domain: Domain,
    questions: Sequence[Question],
    negatives: Sequence[Sequence[int]],
    vectors: Frozen,
    settings: EnsembleSettings,
    temperature: float,
    device: str = "cpu",
    folder: RunFolder | None = None,
    stop: Callable[[], bool] = lambda: False,
    quiet: bool = False,
    kept_back: Callable[[Members], float] | None = None,
) -> Members:
    """An ensemble of which each member saw its own sub-batches, from its own first weights.

    The paper's recipe: Adam, linear warm-up and decay, clipping, one in-batch
    loss per member on its own block, their mean. Blocks are padded to the widest
    one with passages that are ignored. With ``kept_back``, a loss that training
    did not lower, the members are those after the epoch in which it was lowest.
    With ``folder``, epochs that are done are kept there and not repeated.
    """
    s = settings
    dimension = vectors.questions.shape[1]
    members = Members(dimension, s.members, s.hidden, s.ensemble_seed, s.residual, s.ensemble_deviation).to(device)
    subsets = _subsets(len(questions), s)
    plans = [
        Batches(
            domain,
            [questions[i] for i in subset],
            [negatives[i] for i in subset],
            size=s.ensemble_batch,
            hard=s.ensemble_hard,
            seed=s.ensemble_seed + 1000 * (k + 1),
        )
        for k, subset in enumerate(subsets)
    ]
    per_epoch = plans[0].per_epoch
    total = per_epoch * s.ensemble_epochs
    warm_up = min(s.ensemble_warm_up, total // 5)
    optimiser = torch.optim.Adam(members.parameters(), lr=s.ensemble_rate, eps=1e-8)
    q, p = vectors.questions.to(device), vectors.passages.to(device)
    first, best = _resume(folder, members, optimiser)
    saved = time.monotonic()
    with Progress("ensemble", total, "steps", first * per_epoch, quiet, saves=True) as bar:
        for epoch in range(first, s.ensemble_epochs):
            orders = [plan.epoch(epoch) for plan in plans]
            for number in range(per_epoch):
                step = epoch * per_epoch + number
                for group in optimiser.param_groups:
                    group["lr"] = s.ensemble_rate * rate(step, total, warm_up)
                blocks = [plan.batch(epoch, number, order) for plan, order in zip(plans, orders, strict=True)]
                width = max(len(b.passages) for b in blocks)
                rows = np.stack([subset[b.questions] for subset, b in zip(subsets, blocks, strict=True)])
                columns = np.stack([np.pad(b.passages, (0, width - len(b.passages))) for b in blocks])
                ignore = np.stack(
                    [np.pad(b.ignore, ((0, 0), (0, width - len(b.passages))), constant_values=True) for b in blocks]
                )
                targets = np.stack([b.targets for b in blocks])
                loss = ensemble_loss(
                    members.separately(q[torch.from_numpy(rows).to(device)]),
                    p[torch.from_numpy(columns).to(device)],
                    torch.from_numpy(targets).to(device),
                    torch.from_numpy(ignore).to(device),
                    temperature,
                )
                optimiser.zero_grad(set_to_none=True)
                loss.backward()  # type: ignore[no-untyped-call]
                torch.nn.utils.clip_grad_norm_(members.parameters(), s.ensemble_norm)
                optimiser.step()
                bar.tick(1, f"loss {float(loss.detach()):.4f}")
            if kept_back is not None and (value := kept_back(members)) < best.loss:
                best = Best(value, epoch + 1, {name: p.cpu().clone() for name, p in members.state_dict().items()})
            stopping = stop() and epoch + 1 < s.ensemble_epochs
            if folder is not None and (stopping or time.monotonic() - saved > 30):
                folder.save_part(STATE, _state(epoch + 1, members, optimiser, best))
                saved = time.monotonic()
            if stopping:
                raise Interrupted(f"stopped after epoch {epoch + 1} of the ensemble; the same command goes on")
    if best.epoch:
        members.load_state_dict(best.weights)
    if not all(bool(torch.isfinite(w).all()) for w in members.parameters()):
        raise TrainingError("the ensemble's weights are not finite: lower --ensemble-rate")
    return members.cpu()


@dataclass(frozen=True)
class Best:
    """The epoch, from 1, whose loss on questions kept back was lowest, and the weights after it; 0: none yet."""

    loss: float = math.inf
    epoch: int = 0
    weights: dict[str, Tensor] = field(default_factory=dict)


def _state(done: int, members: Members, optimiser: torch.optim.Optimizer, best: Best) -> dict[str, Any]:
    return {"done": done, "members": members.state_dict(), "optimiser": optimiser.state_dict(), "best": vars(best)}


def _resume(folder: RunFolder | None, members: Members, optimiser: torch.optim.Optimizer) -> tuple[int, Best]:
    """Put back what an earlier run saved; how many epochs it had done, and the best of them."""
    if folder is None or (state := folder.load_part(STATE)) is None:
        return 0, Best()
    members.load_state_dict(state["members"])
    optimiser.load_state_dict(state["optimiser"])
    return int(state["done"]), Best(**state["best"])


def loss_over(
    members: Members, questions: Tensor, passages: Tensor, positives: Sequence[Sequence[int]], temperature: float
) -> float:
    """The members' mean NLL of each question's best positive among all ``passages`` [N,D]: none of training's."""
    total = 0.0
    with torch.inference_mode():
        for a in range(0, len(questions), 64):
            scores = (members(questions[a : a + 64].to(members.weights[0].device)).cpu() @ passages.T) / temperature
            own = torch.full_like(scores[:, 0], -math.inf)  # [b,N]
            for row, places in enumerate(positives[a : a + 64]):
                own[row, list(places)] = 0.0
            total += float((scores.logsumexp(2) - (scores + own[:, None]).logsumexp(2)).mean(1).sum())
    return total / max(1, len(questions))


def _subsets(count: int, s: EnsembleSettings) -> list[NDArray[np.int64]]:
    """The questions that each member may see: as many for each, drawn by the member's own seed."""
    take = max(2, round(count * s.share))
    if count < 2:
        raise TrainingError(f"{count} questions are too few for an ensemble")
    out = []
    for k in range(s.members):
        random = np.random.default_rng([s.ensemble_seed, 3, k])
        out.append(np.sort(random.permutation(count)[:take]) if take < count else np.arange(count))
    return out


def member_scores(
    members: Members, questions: Tensor, passages: Tensor, places: NDArray[np.int64]
) -> NDArray[np.float32]:
    """The members' scores [Q,K,L] of each question's hits ``places`` [Q,L]."""
    out = np.empty((len(questions), members.members, places.shape[1]), np.float32)
    with torch.inference_mode():
        for a in range(0, len(questions), 64):
            outputs = members(questions[a : a + 64])  # [b,K,D]
            hits = passages[torch.from_numpy(places[a : a + 64])]  # [b,L,D]
            out[a : a + 64] = torch.bmm(outputs, hits.transpose(1, 2)).numpy()
    return out
