"""What a T5 that reads several passages loses on answers, with the gradients, in the memory of some passages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from conclave_train.fit.encode import Device, seed_chunk
from conclave_train.model.t5 import T5


@dataclass(frozen=True)
class Asked:
    """A question's ``passages`` beside it, as tokens, and the ``answer`` that is wanted."""

    passages: list[list[int]]
    answer: list[int]


@dataclass(frozen=True)
class Said:
    """What a reader said of one question: its loss, the sum over the answer's tokens of -log p(a_t | a_<t, q, Z);
    and log p(a_t | a_<t, q, z_k) [K,T] of each passage alone."""

    loss: float
    alone: Tensor


def states(model: T5, rows: Sequence[list[int]], device: Device) -> Tensor:
    """The states [1,ΣL,D] of the passages ``rows``, one behind the other, without padding."""
    longest = max(map(len, rows))
    ids = torch.tensor([r + [0] * (longest - len(r)) for r in rows], device=device.name)
    keep = torch.tensor([[True] * len(r) + [False] * (longest - len(r)) for r in rows], device=device.name)
    return model.read(ids, keep)


def groups(asked: Sequence[Asked], size: int) -> Iterator[list[Asked]]:
    """The questions in their order, as many at a time as have ``size`` passages together; at least one."""
    group: list[Asked] = []
    for one in asked:
        if group and sum(len(a.passages) for a in group) + len(one.passages) > size:
            yield group
            group = []
        group.append(one)
    if group:
        yield group


def learn(
    reader: T5, asked: Sequence[Asked], device: Device, size: int, key: Sequence[int], weight: float,
    alone: bool = False,
) -> list[Said]:  # fmt: skip
    """Add the gradients of ``weight`` · -Σ_t log p(a_t | a_<t, q, Z), summed over the questions, to the reader's
    parameters; what it said of each.

    Memory is that of ``size`` passages beside the states of those of one question. Dropout is seeded from ``key``.
    """
    out = []
    for n, group in enumerate(groups(asked, size)):
        out += _learn_group(reader, group, device, size, (*key, n), weight, alone)
    return out


def _learn_group(
    reader: T5, asked: Sequence[Asked], device: Device, size: int, key: Sequence[int], weight: float, alone: bool
) -> list[Said]:
    """Learn from questions that are answered at once.

    Where a question has more passages than ``size``, they are encoded so many at a time: first without a graph, then,
    when the gradients of their states are known, once more with one (Gao et al. 2021); dropout is seeded for each
    part, so that both passes see the same.
    """
    passages = [p for a in asked for p in a.passages]
    parts = [passages[a : a + size] for a in range(0, len(passages), size)]

    def encode(n: int) -> Tensor:
        seed_chunk(*key, n)
        with device.autocast():
            return states(reader, parts[n], device)

    with torch.set_grad_enabled(len(parts) == 1):
        found = [encode(n) for n in range(len(parts))]
    leaf = torch.cat([part.detach() for part in found], dim=1).requires_grad_()
    seed_chunk(*key, len(parts))
    answers = [a.answer for a in asked]
    likely = _likely(reader, leaf, [sum(map(len, a.passages)) for a in asked], answers, device)
    losses = [-one.sum() for one in likely]
    (weight * torch.stack(losses).sum()).backward()  # type: ignore[no-untyped-call]
    assert leaf.grad is not None
    at = 0
    for n, part in enumerate(found):
        again = part if len(parts) == 1 else encode(n)
        again.backward(leaf.grad[:, at : at + part.shape[1]].to(part.dtype))  # type: ignore[no-untyped-call]
        at += part.shape[1]
    each = likelihoods(reader, leaf.detach(), asked, device, size) if alone else [torch.empty(0)] * len(asked)
    return [Said(float(loss.detach()), own) for loss, own in zip(losses, each, strict=True)]


@torch.no_grad()
def likelihoods(reader: T5, whole: Tensor, asked: Sequence[Asked], device: Device, size: int) -> list[Tensor]:
    """log p(a_t | a_<t, q, z_k) [K,T] of each question, of passages whose states [1,ΣL,D] stand one behind the other.

    Without dropout in the decoder: it would rank the passages by chance.
    """
    was = reader.training
    reader.eval()
    pairs = [(len(p), a.answer) for a in asked for p in a.passages]
    out, at = [], 0
    for part in (pairs[a : a + size] for a in range(0, len(pairs), size)):
        lengths = [length for length, _ in part]
        own = whole[:, at : at + sum(lengths)]
        out += _likely(reader, own, lengths, [answer for _, answer in part], device)
        at += sum(lengths)
    reader.train(was)
    rows = iter(out)
    return [torch.stack([next(rows) for _ in a.passages]) for a in asked]


def _likely(
    reader: T5, whole: Tensor, lengths: Sequence[int], answers: Sequence[list[int]], device: Device
) -> list[Tensor]:
    """log p(a_t | a_<t, …) [T] of each answer, given its own stretch of ``lengths`` of the states [1,ΣL,D]."""
    own = pad_sequence(list(torch.split(whole[0], list(lengths))), batch_first=True)
    keep = torch.arange(own.shape[1], device=device.name) < torch.tensor(lengths, device=device.name)[:, None]
    most = max(map(len, answers))
    wanted = torch.tensor([a + [0] * (most - len(a)) for a in answers], device=device.name)
    said = functional.pad(wanted[:, :-1], (1, 0), value=reader.c.start)
    with device.autocast():
        logits = reader.say(own, said, keep)
    likely = logits.log_softmax(-1).gather(-1, wanted[..., None])[..., 0]
    return [row[: len(a)] for row, a in zip(likely, answers, strict=True)]
