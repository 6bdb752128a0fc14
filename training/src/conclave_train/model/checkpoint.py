"""Reading published checkpoints: ``config.json``, ``model.safetensors``, a tokenizer, and how to pool."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from conclave_train.errors import TrainingError
from conclave_train.model.bert import BertConfig
from conclave_train.model.tokens import Tokens
from conclave_train.model.tower import POOLINGS, BiEncoder, Head, Tower

# Prefixes under which checkpoints keep a BertModel: transformers' DPR classes, a
# model with a task head, a plain one.
SIDES = {"question": "question_encoder.", "passage": "ctx_encoder."}


@dataclass(frozen=True)
class Checkpoint:
    """A base model: its weights per side by plain BertModel names, and how it is used."""

    path: Path
    config: BertConfig
    head: Head
    tokens: Tokens
    tokenizer_file: Path
    states: dict[str, dict[str, Tensor]]  # "shared", or "question" and "passage"
    sha256: str  # of the weights, as the server records it
    licence: str
    max_tokens: tuple[int, int]  # question, passage, as `conclave models import` would take them
    dpr: bool

    def model(self) -> BiEncoder:
        """A bi-encoder with these weights: tied where the checkpoint has one encoder."""
        towers = {}
        for side, state in self.states.items():
            towers[side] = Tower(self.config, self.head)
            towers[side].load_plain_state(state)
        if "shared" in towers:
            return BiEncoder(towers["shared"])
        return BiEncoder(towers["question"], towers["passage"])

    def base(self, side: str) -> dict[str, Tensor]:
        """The weights that ``side`` (shared, question or passage) begins with."""
        return self.states.get(side) or self.states["shared"]


def read_checkpoint(path: Path, pooling: str = "", normalise: bool | None = None) -> Checkpoint:
    """Read the checkpoint in ``path``; ``pooling`` and ``normalise`` override what it says.

    DPR's two encoders are in the subfolders ``question_encoder`` and ``ctx_encoder``.
    """
    if not path.is_dir():
        raise TrainingError(f"there is no checkpoint at {path} (`conclave setup` fetches the base encoder)")
    folders = [path]
    if not (path / "config.json").exists() and all((path / p.rstrip(".")).is_dir() for p in SIDES.values()):
        folders = [path / p.rstrip(".") for p in SIDES.values()]
    config = BertConfig.read(folders[0] / "config.json")
    said = _sentence_transformers(folders[0])
    head = Head(pooling or said.pooling or "cls", said.normalise if normalise is None else normalise)
    if head.pooling not in POOLINGS:
        raise TrainingError(f"pooling {head.pooling!r} is not one of {', '.join(POOLINGS)}")
    sums, states, dpr = [], {}, config.projection_dim > 0
    for folder in folders:
        file = folder / "model.safetensors"
        raw = _weights(file)
        with file.open("rb") as opened:
            sums.append(hashlib.file_digest(opened, "sha256").hexdigest())
        side, state = _side(raw)
        states[side] = _exact(state, config, head, file)
        dpr = dpr or side != "shared"
    if "shared" not in states and len(states) != 2:
        raise TrainingError(f"{path} holds the {next(iter(states))} encoder alone; both of DPR's encoders are needed")
    tokenizer = next((f for n in ("tokenizer.json", "vocab.txt") if (f := folders[0] / n).is_file()), None)
    if tokenizer is None:
        raise TrainingError(f"{folders[0]} has neither tokenizer.json nor vocab.txt")
    most = min(config.max_position_embeddings, said.max_tokens or config.max_position_embeddings)
    return Checkpoint(
        path=path,
        config=config,
        head=head,
        tokens=Tokens.read(tokenizer, _prompts(folders[0])),
        tokenizer_file=tokenizer,
        states=states,
        sha256=_one_sum(sums),
        licence=_licence(folders[0] / "README.md"),
        max_tokens=(min(256 if dpr else 64, most), min(256, most)),
        dpr=dpr,
    )


def _one_sum(sums: list[str]) -> str:
    """As the server's importer records it: one file is its own sum, two are the sum of the sums' lines."""
    return sums[0] if len(sums) == 1 else hashlib.sha256("".join(s + "\n" for s in sums).encode()).hexdigest()


def _weights(file: Path) -> dict[str, Tensor]:
    try:
        with safe_open(str(file), framework="pt") as f:
            return {name: f.get_tensor(name).to(torch.float32, copy=True) for name in f.keys() if _is_float(f, name)}  # noqa: SIM118
    except FileNotFoundError:
        hint = "; load the model in transformers and save it again, which writes model.safetensors"
        old = (file.parent / "pytorch_model.bin").exists()
        raise TrainingError(f"{file.parent} has no {file.name}{hint if old else ''}") from None
    except SafetensorError as error:
        raise TrainingError(f"{file}: {error}") from error


def _is_float(file: Any, name: str) -> bool:
    return str(file.get_slice(name).get_dtype()) in ("F32", "F16", "BF16", "F64")


def _side(raw: dict[str, Tensor]) -> tuple[str, dict[str, Tensor]]:
    """Whose encoder it is, and its tensors without prefixes; old names of LayerNorm's weights become the new ones."""
    for side, prefix in SIDES.items():
        body = prefix + "bert_model."
        if any(name.startswith(body) for name in raw):
            return side, {
                _modern(n.removeprefix(body).removeprefix(prefix)): v for n, v in raw.items() if n.startswith(prefix)
            }
    body = "bert." if any(name.startswith("bert.embeddings.") for name in raw) else ""
    return "shared", {_modern(n.removeprefix(body)): v for n, v in raw.items() if n.startswith(body)}


def _modern(name: str) -> str:
    return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")


def _exact(state: dict[str, Tensor], config: BertConfig, head: Head, file: Path) -> dict[str, Tensor]:
    """The tensors that the encoder has, each of the right shape; others (pooler, position ids) are dropped."""
    with torch.device("meta"):
        wanted = {name: tuple(t.shape) for name, t in Tower(config, head).plain_state().items()}
    for name, shape in wanted.items():
        if name not in state:
            raise TrainingError(f'{file}: tensor "{name}" is missing')
        if tuple(state[name].shape) != shape:
            raise TrainingError(
                f'{file}: tensor "{name}" has shape {tuple(state[name].shape)}, and {shape} by config.json'
            )
        if not torch.isfinite(state[name]).all():
            raise TrainingError(f'{file}: tensor "{name}" has a value that is not finite')
    return {name: state[name] for name in wanted}


@dataclass(frozen=True)
class _Said:
    pooling: str = ""
    normalise: bool = False
    max_tokens: int = 0


def _sentence_transformers(folder: Path) -> _Said:
    """What sentence-transformers' files beside the weights say about pooling, length and limits."""
    modules = _json(folder / "modules.json") or []
    where = next((m["path"] for m in modules if str(m.get("type", "")).endswith("Pooling")), "1_Pooling")
    modes = _json(folder / where / "config.json") or {}
    on = [
        k.removeprefix("pooling_mode_").removesuffix("_tokens").removesuffix("_token")
        for k, v in modes.items()
        if v is True
    ]
    if isinstance(modes.get("pooling_mode"), str):
        on = [modes["pooling_mode"]]
    on = [mode for mode in on if mode != "include_prompt"]
    if len(on) > 1 or any(mode not in POOLINGS for mode in on):
        raise TrainingError(f"{folder / where / 'config.json'}: pooling {on} is not supported; cls or mean is")
    limit = (_json(folder / "sentence_bert_config.json") or {}).get("max_seq_length")
    normalise = any(str(m.get("type", "")).endswith("Normalize") for m in modules)
    return _Said(on[0] if on else "", normalise, int(limit or 0))


def _prompts(folder: Path) -> tuple[str, str]:
    """What sentence-transformers' settings put before questions and passages, as the server's importer chooses it."""
    settings = _json(folder / "config_sentence_transformers.json") or {}
    texts = settings.get("prompts") or {}
    otherwise = texts.get(settings.get("default_prompt_name"), "")
    question, passage = (
        next((texts[name] for name in names if name in texts), otherwise)
        for names in (("query",), ("document", "passage", "corpus"))
    )
    return question, passage


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise TrainingError(f"{path}: is not JSON: {error}") from error


def _licence(readme: Path) -> str:
    """The ``license:`` of a model card's front matter, or nothing."""
    try:
        parts = readme.read_text("utf-8").split("---\n", 2)
    except (FileNotFoundError, UnicodeDecodeError):
        return ""
    if len(parts) < 3 or parts[0].strip():
        return ""
    for line in parts[1].splitlines():
        if line.startswith("license:"):
            return line.removeprefix("license:").strip()
    return ""
