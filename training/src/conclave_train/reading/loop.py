"""Training a reader."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from conclave_train.errors import TrainingError
from conclave_train.fit.encode import STEP, Device, chunks, seed_chunk
from conclave_train.fit.schedule import optimiser, rate
from conclave_train.fit.state import RunFolder
from conclave_train.fit.steps import Steps
from conclave_train.model.tokens import Tokens
from conclave_train.reading.groups import Groups
from conclave_train.reading.loss import answer_nll, selection_nll, span_nll
from conclave_train.reading.model import Reader
from conclave_train.reading.pairs import Pair, Span
from conclave_train.settings import ReaderSettings


def read(reader: Reader, pairs: Sequence[Pair], tokens: Tokens, device: Device) -> tuple[Tensor, Tensor, Tensor]:
    """The reader's logits of ``pairs``: start and end [B,L], -inf outside the texts, and select [B]."""
    most = reader.tower.config.max_position_embeddings
    rows = [p.ids for p in pairs]
    if device.few_shapes:
        rows = rows + [rows[0]] * (-len(rows) % 4)
    ids, keep = tokens.pad_batch(rows, device.name, STEP if device.few_shapes else 1, most)
    with device.autocast():
        start, end, select = reader(ids, keep)
    at = torch.tensor([p.text_at for p in pairs], device=ids.device)
    text = keep[: len(pairs)] & (torch.arange(ids.shape[1], device=ids.device) >= at[:, None])
    start, end = (x[: len(pairs)].masked_fill(~text, -torch.inf) for x in (start, end))
    return start, end, select[: len(pairs)]


class ReaderLoop(Steps[Reader, ReaderSettings]):
    """Trains a reader in place."""

    def __init__(
        self,
        reader: Reader,
        groups: Groups,
        settings: ReaderSettings,
        device: Device,
        folder: RunFolder,
        stop: Callable[[], bool] = lambda: False,
        quiet: bool = False,
    ) -> None:
        self.groups, self.s, self.device, self.count = groups, settings, device, len(groups.questions)
        reader = reader.to(device.name)
        own = {id(p) for p in reader.head_parameters()}
        named = list(reader.named_parameters())
        adam = optimiser([(n, p) for n, p in named if id(p) not in own], settings.learning_rate, 0.0)
        self.full = [*(settings.learning_rate for _ in adam.param_groups), settings.head_rate]
        adam.add_param_group({"params": [p for _, p in named if id(p) in own], "weight_decay": 0.0})
        self.parameters = [p for p in reader.parameters() if p.requires_grad]
        super().__init__(reader, adam, folder, stop, quiet)

    def step(self, rows: list[int], step: int, total: int) -> str:
        """One update of the weights; the losses before it, in words."""
        self.rates(self.full, rate(step, total, math.floor(self.s.warm_up * total)))
        found = [g for g in (self.groups.group(i, step) for i in rows) if g]
        if not found:
            return ""
        self.model.train()
        select, spans = self._run(found, step)
        parts = [span_nll(*x) for x in spans]
        # Questions without answers have no spans: the mean is over all, so that every question weighs alike.
        span = torch.stack(parts).sum() / len(found) if parts else torch.zeros((), device=select.device)
        chosen, absolute = selection_nll(select), answer_nll(select)
        loss = span + chosen + absolute
        loss.backward()  # type: ignore[no-untyped-call]
        norm = clip_grad_norm_(self.parameters, self.s.max_norm)
        if not math.isfinite(float(norm)) or not math.isfinite(float(loss.detach())):
            raise TrainingError(f"the loss or its gradient is not finite at step {step + 1}: lower --learning-rate")
        self.optimiser.step()
        values = zip(("span", "select", "answers"), (span, chosen, absolute), strict=True)
        return "loss: " + ", ".join(f"{name} {float(value.detach()):.2f}" for name, value in values)

    def _run(
        self, found: Sequence[Sequence[Pair]], step: int
    ) -> tuple[Tensor, list[tuple[Tensor, Tensor, list[Span]]]]:
        """Selection logits [Q,C], -inf where a question has fewer passages; of each question with spans its logits.

        The starts and the ends of all passages of a question stand one after the
        other, those of the positive first, so that a span is told from the words
        of the others too.
        """
        flat = [(q, c, pair) for q, group in enumerate(found) for c, pair in enumerate(group)]
        select = torch.full((len(found), max(len(g) for g in found)), -torch.inf, device=self.device.name)
        starts: dict[tuple[int, int], Tensor] = {}
        ends: dict[tuple[int, int], Tensor] = {}
        for number, part in enumerate(chunks([len(pair.ids) for _, _, pair in flat], self.s.chunk)):
            seed_chunk(self.s.seed, step, number)
            start, end, scores = read(self.model, [flat[i][2] for i in part], self.groups.pairs.tokens, self.device)
            at = torch.tensor([flat[i][:2] for i in part], device=select.device)
            select = select.index_put((at[:, 0], at[:, 1]), scores)
            for i, s, e in zip(part, start, end, strict=True):
                starts[flat[i][:2]], ends[flat[i][:2]] = s, e

        def whole(side: dict[tuple[int, int], Tensor], q: int, group: Sequence[Pair]) -> Tensor:
            return torch.cat([side[q, c] for c in range(len(group))])

        spans = [
            (whole(starts, q, group), whole(ends, q, group), list(group[0].spans))
            for q, group in enumerate(found)
            if group[0].spans
        ]
        return select, spans
