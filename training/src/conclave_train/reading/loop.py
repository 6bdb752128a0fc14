"""Training a reader, with its state kept in the run's folder."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from conclave_train.errors import Interrupted, TrainingError
from conclave_train.fit.encode import STEP, Device, chunks, seed_chunk
from conclave_train.fit.schedule import optimiser, rate
from conclave_train.fit.state import Progressed, RunFolder, restore, snapshot
from conclave_train.model.tokens import Tokens
from conclave_train.progress import Progress, say
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


class ReaderLoop:
    """Trains a reader in place and keeps its state in ``folder``, from which it goes on if there is one."""

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
        self.reader, self.groups, self.s = reader.to(device.name), groups, settings
        self.device, self.folder, self.stop, self.quiet = device, folder, stop, quiet
        own = {id(p) for p in reader.head_parameters()}
        named = list(reader.named_parameters())
        self.optimiser = optimiser([(n, p) for n, p in named if id(p) not in own], settings.learning_rate, 0.0)
        self.optimiser.add_param_group({"params": [p for _, p in named if id(p) in own], "weight_decay": 0.0})
        self.parameters = [p for p in reader.parameters() if p.requires_grad]
        self.state = folder.load() or Progressed(0, {}, {})
        if self.state.weights:
            restore(self.reader, self.state.weights)
            self.optimiser.load_state_dict(self.state.optimiser)
            if not quiet:
                say(f"going on after step {self.state.step}")

    def fit(self) -> None:
        """Train to the end."""
        count = len(self.groups.questions)
        per_epoch = -(-count // self.s.batch)
        total = per_epoch * self.s.epochs
        done = sum(len(self._rows(step, per_epoch)) for step in range(self.state.step))
        with Progress("training", count * self.s.epochs, "questions", done, self.quiet) as bar:
            for step in range(self.state.step, total):
                if self.stop():
                    self._save()
                    raise Interrupted(f"stopped after step {step} of {total}; the same command goes on")
                rows = self._rows(step, per_epoch)
                note = self._step(rows, step, total)
                bar.tick(len(rows), note)
                if self.state.step % self.s.save_every == 0 or self.state.step == total:
                    self._save()
        self.reader.eval()

    def _rows(self, step: int, per_epoch: int) -> list[int]:
        epoch, number = divmod(step, per_epoch)
        return [int(i) for i in self.groups.order(epoch)[number * self.s.batch : (number + 1) * self.s.batch]]

    def _step(self, rows: Sequence[int], step: int, total: int) -> str:
        """One update of the weights; the losses before it, in words."""
        share = rate(step, total, math.floor(self.s.warm_up * total))
        for group in self.optimiser.param_groups:
            group["lr"] = self.s.learning_rate * share
        self.optimiser.param_groups[-1]["lr"] = self.s.head_rate * share
        self.optimiser.zero_grad(set_to_none=True)
        found = [g for g in (self.groups.group(i, step) for i in rows) if g]
        self.state.step = step + 1
        if not found:
            return ""
        self.reader.train()
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
            start, end, scores = read(self.reader, [flat[i][2] for i in part], self.groups.pairs.tokens, self.device)
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

    def _save(self) -> None:
        self.state.weights = snapshot(self.reader)
        self.state.optimiser = self.optimiser.state_dict()
        self.folder.save(self.state)
