"""The reader: a BERT over question and passage together, with a head for spans and one for selection.

(Karpukhin et al. 2020, section 6.1.) Shapes: B pairs of L tokens, D the hidden size.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from conclave_train.errors import TrainingError
from conclave_train.model.checkpoint import Checkpoint
from conclave_train.model.delta import NEW, Delta, extract, merge
from conclave_train.model.tower import Head, Tower, freeze_embeddings

PREFIX = "shared.reader."


class Reader(nn.Module):
    """``ids`` int64 [B,L], ``keep`` bool [B,L] → start [B,L], end [B,L], select [B], float32 logits.

    Start and end stand for every token; those outside the text are for the
    caller to leave out. Select comes of the first token's state. It is the log
    odds that the passage answers, where half of the passages do.
    """

    def __init__(self, tower: Tower) -> None:
        super().__init__()
        self.tower = tower
        self.span = nn.Linear(tower.config.hidden_size, 2)
        self.select = nn.Linear(tower.config.hidden_size, 1)
        for head in (self.span, self.select):
            nn.init.normal_(head.weight, std=0.02)
            nn.init.zeros_(head.bias)

    def forward(self, ids: Tensor, keep: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        states = self.tower.bert(ids, keep)
        start, end = self.span(states).float().unbind(-1)
        return start, end, self.select(states[:, 0]).float().squeeze(-1)

    def head_parameters(self) -> list[nn.Parameter]:
        """The parameters that the base lacks."""
        return [*self.span.parameters(), *self.select.parameters()]

    def head_state(self) -> dict[str, Tensor]:
        """The same by their names in a delta, without prefix and suffix."""
        return {n: t.detach().cpu() for n, t in self.state_dict().items() if not n.startswith("tower.")}


def new_reader(base: Checkpoint, seed: int, freeze: int = 0) -> Reader:
    """A reader that begins as ``base``; embedding tables and the lowest ``freeze`` layers are not trained."""
    tower = _tower(base, base.states["shared"])
    freeze_embeddings(tower)
    if not 0 <= freeze < base.config.num_hidden_layers:
        raise TrainingError(f"--freeze: {freeze} of the base's {base.config.num_hidden_layers} layers: one must learn")
    if freeze:
        tower.bert.embeddings.requires_grad_(False)
    for layer in list(tower.bert.encoder.layer)[:freeze]:
        layer.requires_grad_(False)
    torch.manual_seed(seed)
    return Reader(tower)


def _tower(base: Checkpoint, state: Mapping[str, Tensor]) -> Tower:
    """The encoder alone: what a base has for pooling is left out."""
    tower = Tower(base.config, Head("cls", False))
    tower.load_plain_state({name: state[name] for name in tower.plain_state()})
    return tower


def reader_delta(base: Checkpoint, reader: Reader, rank: int) -> Delta:
    """What training changed in the base, compressed to ``rank``, and the heads as they are in fp16."""
    tuned = base.states["shared"] | {n: t.detach().cpu() for n, t in reader.tower.plain_state().items()}
    delta = extract(base, {"shared": tuned}, rank)
    for name, value in reader.head_state().items():
        if not torch.isfinite(half := value.half()).all():
            raise TrainingError(f'the trained tensor "{name}" has a value that is not finite in fp16')
        delta.tensors[f"{PREFIX}{name}{NEW}"] = half
    return delta


def load_reader(base: Checkpoint, delta: Delta) -> Reader:
    """The reader that ``delta`` makes of ``base``."""
    if list(base.states) != ["shared"] or delta.towers != ["shared"]:
        raise TrainingError("a reader has one encoder for question and passage; two are here")
    reader = Reader(_tower(base, merge(base, delta)["shared"]))
    wanted = {PREFIX + name: tuple(t.shape) for name, t in reader.head_state().items()}
    found = {name: tuple(t.shape) for name, t in delta.new.items()}
    if wanted != found:
        odd = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))[0]
        raise TrainingError(
            f'the delta\'s tensor "{odd}{NEW}" is {found.get(odd, "missing")}; '
            f"{wanted.get(odd, 'none of that name')} is needed for a reader"
        )
    reader.load_state_dict({n.removeprefix(PREFIX): t for n, t in delta.new.items()}, strict=False)
    return reader
