"""T5 (Raffel et al. 2020), as far as Fusion-in-Decoder needs it; its tensors have transformers' names."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from conclave_train.errors import TrainingError
from conclave_train.model.tensors import read_tensors

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": functional.relu,
    "gelu": functional.gelu,
    "gelu_new": lambda x: functional.gelu(x, approximate="tanh"),
    "silu": functional.silu,
}


@dataclass(frozen=True)
class T5Config:
    """The part of ``config.json`` that decides what is computed."""

    vocab_size: int
    d_model: int
    d_kv: int
    d_ff: int
    num_layers: int
    num_decoder_layers: int
    num_heads: int
    buckets: int
    distance: int
    feed_forward: str
    epsilon: float
    scale: bool  # divide the last states by √d_model
    start: int

    @classmethod
    def read(cls, path: Path) -> T5Config:
        """Read ``path``."""
        try:
            raw: dict[str, Any] = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise TrainingError(f"{path} cannot be read: {error}") from None
        if raw.get("model_type") != "t5":
            raise TrainingError(f"{path}: model_type is {raw.get('model_type')!r}; a T5 is needed")
        said = raw.get("feed_forward_proj", "relu")
        config = cls(
            vocab_size=int(raw["vocab_size"]),
            d_model=int(raw["d_model"]),
            d_kv=int(raw["d_kv"]),
            d_ff=int(raw["d_ff"]),
            num_layers=int(raw["num_layers"]),
            num_decoder_layers=int(raw.get("num_decoder_layers") or raw["num_layers"]),
            num_heads=int(raw["num_heads"]),
            buckets=int(raw.get("relative_attention_num_buckets", 32)),
            distance=int(raw.get("relative_attention_max_distance", 128)),
            feed_forward="gated-gelu_new" if said == "gated-gelu" else said,
            epsilon=float(raw.get("layer_norm_epsilon", 1e-6)),
            scale=raw.get("scale_decoder_outputs", raw.get("tie_word_embeddings")) is not False,
            start=int(raw.get("decoder_start_token_id", raw.get("pad_token_id", 0))),
        )
        if config.feed_forward.removeprefix("gated-") not in ACTIVATIONS:
            raise TrainingError(f"{path}: feed_forward_proj is {said!r}; {', '.join(ACTIVATIONS)} are known")
        return config

    def describe(self) -> str:
        """The shape in words."""
        return f"t5, {self.num_layers} and {self.num_decoder_layers} layers of {self.d_model}, {self.num_heads} heads"


class Norm(nn.Module):
    """Root mean square normalisation (Zhang & Sennrich 2019)."""

    def __init__(self, c: T5Config) -> None:
        super().__init__()
        self.weight, self.epsilon = nn.Parameter(torch.ones(c.d_model)), c.epsilon

    def forward(self, x: Tensor) -> Tensor:
        """``x`` [..., D], normalised."""
        y = x.float()
        return self.weight * (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + self.epsilon))


class Attention(nn.Module):
    """Attention without scaling; the first of a stack has the biases by relative position."""

    def __init__(self, c: T5Config, biased: bool, decoder: bool) -> None:
        super().__init__()
        inner = c.num_heads * c.d_kv
        self.c, self.decoder = c, decoder
        self.q, self.k, self.v = (nn.Linear(c.d_model, inner, bias=False) for _ in range(3))
        self.o = nn.Linear(inner, c.d_model, bias=False)
        if biased:
            self.relative_attention_bias = nn.Embedding(c.buckets, c.num_heads)

    def forward(self, x: Tensor, states: Tensor, bias: Tensor) -> Tensor:
        """``x`` [B,S,D] attends to ``states`` [B,T,D]; ``bias`` broadcasts to [B,H,S,T]."""
        q, k, v = (
            part(y).unflatten(-1, (self.c.num_heads, self.c.d_kv)).transpose(1, 2)
            for part, y in ((self.q, x), (self.k, states), (self.v, states))
        )
        weights = (q @ k.transpose(-1, -2) + bias).float().softmax(-1).to(v.dtype)
        return self.o((weights @ v).transpose(1, 2).flatten(-2))  # type: ignore[no-any-return]

    def positions(self, length: int, device: torch.device) -> Tensor:
        """The biases [1,H,L,L] of a stack's attention to itself; a decoder's see nothing behind them."""
        at = torch.arange(length, device=device)
        distance = at[None, :] - at[:, None]
        table = self.relative_attention_bias(bucket(distance, not self.decoder, self.c.buckets, self.c.distance))
        if self.decoder:
            table = table.masked_fill((distance > 0)[..., None], -torch.inf)
        return table.permute(2, 0, 1)[None]  # type: ignore[no-any-return]


def bucket(distance: Tensor, both: bool, buckets: int, most: int) -> Tensor:
    """The row of the bias for keys ``distance`` places behind their query."""
    rows = torch.zeros_like(distance)
    if both:
        buckets //= 2
        rows = (distance > 0).long() * buckets
        distance = distance.abs()
    else:
        distance = (-distance).clamp_min(0)
    exact = buckets // 2
    far = (
        exact
        + (torch.log(distance.float() / exact) / math.log(most / exact) * (buckets - exact))
        .nan_to_num(neginf=0.0)
        .long()
    )
    return rows + torch.where(distance < exact, distance, far.clamp_max(buckets - 1))


class Dense(nn.Module):
    """The feed-forward layer, gated or plain."""

    wi: nn.Linear
    wi_0: nn.Linear
    wi_1: nn.Linear

    def __init__(self, c: T5Config) -> None:
        super().__init__()
        self.gated, self.act = c.feed_forward.startswith("gated-"), ACTIVATIONS[c.feed_forward.removeprefix("gated-")]
        for name in ("wi_0", "wi_1") if self.gated else ("wi",):
            setattr(self, name, nn.Linear(c.d_model, c.d_ff, bias=False))
        self.wo = nn.Linear(c.d_ff, c.d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """``x`` [..., D] through both layers."""
        wide = self.act(self.wi_0(x)) * self.wi_1(x) if self.gated else self.act(self.wi(x))
        return self.wo(wide)  # type: ignore[no-any-return]


class Layer(nn.Module):
    """One part of a block behind its normalisation; it is named as transformers names it."""

    def __init__(self, c: T5Config, name: str, part: nn.Module, dropout: float) -> None:
        super().__init__()
        setattr(self, name, part)
        self.layer_norm, self.dropout = Norm(c), nn.Dropout(dropout)
        self.name = name

    def forward(self, x: Tensor, *more: Tensor | None) -> Tensor:
        """``x`` and what the part makes of it; without other states it attends to itself."""
        normal = self.layer_norm(x)
        part = getattr(self, self.name)
        if self.name == "DenseReluDense":
            return x + self.dropout(part(normal))  # type: ignore[no-any-return]
        states, bias = more
        return x + self.dropout(part(normal, normal if states is None else states, bias))  # type: ignore[no-any-return]


class Block(nn.Module):
    """A block of the encoder or of the decoder."""

    def __init__(self, c: T5Config, first: bool, decoder: bool, dropout: float) -> None:
        super().__init__()
        layers = [Layer(c, "SelfAttention", Attention(c, first, decoder), dropout)]
        if decoder:
            layers.append(Layer(c, "EncDecAttention", Attention(c, False, True), dropout))
        self.layer = nn.ModuleList([*layers, Layer(c, "DenseReluDense", Dense(c), dropout)])

    def forward(self, x: Tensor, bias: Tensor, states: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        """``x`` through the block."""
        x = self.layer[0](x, None, bias)
        if states is not None:
            x = self.layer[1](x, states, mask)
        return self.layer[-1](x)  # type: ignore[no-any-return]


class Stack(nn.Module):
    """The encoder or the decoder."""

    def __init__(self, c: T5Config, count: int, decoder: bool, dropout: float) -> None:
        super().__init__()
        self.block = nn.ModuleList([Block(c, i == 0, decoder, dropout) for i in range(count)])
        self.final_layer_norm, self.dropout = Norm(c), nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor | None, states: Tensor | None = None) -> Tensor:
        """``x`` [B,S,D]; ``mask`` is added to the scores of x itself, or where there are ``states`` of those."""
        attention: Any = self.block[0].get_submodule("layer.0.SelfAttention")
        bias = attention.positions(x.shape[1], x.device)
        if states is None and mask is not None:
            bias = bias + mask
        x = self.dropout(x)
        for block in self.block:
            x = block(x, bias, states, mask if states is not None else None)
        return self.dropout(self.final_layer_norm(x))  # type: ignore[no-any-return]


class T5(nn.Module):
    """A T5 whose decoder attends to the tokens of several passages (Izacard & Grave 2021)."""

    def __init__(self, c: T5Config, own_head: bool, dropout: float) -> None:
        super().__init__()
        self.c = c
        self.shared = nn.Embedding(c.vocab_size, c.d_model)
        self.encoder = Stack(c, c.num_layers, False, dropout)
        self.decoder = Stack(c, c.num_decoder_layers, True, dropout)
        if own_head:
            self.lm_head = nn.Linear(c.d_model, c.vocab_size, bias=False)

    def read(self, ids: Tensor, keep: Tensor) -> Tensor:
        """The states [1,P,D] of the tokens of passages ``ids`` [K,L] that ``keep`` [K,L] marks."""
        mask = torch.zeros(keep.shape, device=ids.device).masked_fill(~keep, -1e30)[:, None, None]
        return self.encoder(self.shared(ids), mask)[keep][None]  # type: ignore[no-any-return]

    def say(self, states: Tensor, ids: Tensor, keep: Tensor | None = None) -> Tensor:
        """The logits [B,S,V] behind each of ``ids`` [B,S], given ``states`` [B,P,D], of which ``keep`` [B,P] marks
        those that are read (None: all)."""
        mask = torch.zeros((), device=ids.device)
        if keep is not None:
            mask = torch.zeros(keep.shape, device=ids.device).masked_fill(~keep, -1e30)[:, None, None]
        out = self.decoder(self.shared(ids), mask, states.expand(len(ids), -1, -1))
        if self.c.scale:
            out = out * self.c.d_model**-0.5
        head = self.lm_head.weight if hasattr(self, "lm_head") else self.shared.weight
        return functional.linear(out, head).float()

    @torch.inference_mode()
    def answer(self, states: Tensor, end: int, most: int) -> list[int]:
        """The likeliest token each time, up to ``end`` or ``most``."""
        said = [self.c.start]
        while len(said) <= most:
            token = int(self.say(states, torch.tensor([said], device=states.device))[0, -1].argmax())
            if token == end:
                break
            said.append(token)
        return said[1:]


def read_t5(folder: Path, dropout: float = 0.0) -> T5:
    """The T5 of a checkpoint's folder, whose tensors have the names of transformers or of Fusion-in-Decoder's code."""
    config = T5Config.read(folder / "config.json")
    raw, _ = read_tensors(folder / "model.safetensors")
    state = {_plain(name): tensor.float() for name, tensor in raw.items()}
    for name in [n for n in state if n.endswith("embed_tokens.weight")]:
        state.setdefault("shared.weight", state[name])
        del state[name]
    state.pop("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight", None)
    model = T5(config, "lm_head.weight" in state, dropout)
    try:
        model.load_state_dict(state)
    except RuntimeError as error:
        raise TrainingError(f"{folder / 'model.safetensors'}: {error}") from None
    return model


def _plain(name: str) -> str:
    """A tensor's name in transformers."""
    if name.startswith("encoder.encoder."):
        return "encoder." + name.removeprefix("encoder.encoder.").replace(".module.layer.", ".layer.")
    return name
