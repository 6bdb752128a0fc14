"""The encoder against implementations that are not ours."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from torch import nn

from conclave_train.errors import TrainingError
from conclave_train.fit.encode import Device, encode_all
from conclave_train.model.bert import BertConfig
from conclave_train.model.checkpoint import Checkpoint, read_checkpoint
from conclave_train.model.tensors import read_tensors, write_tensors
from conftest import cached, golden, write_checkpoint


def test_layers_are_pytorchs(checkpoint: Checkpoint) -> None:
    """torch.nn.TransformerEncoder (post-norm, exact GELU) with the same weights gives the same vectors."""
    c = checkpoint.config
    layer = nn.TransformerEncoderLayer(
        c.hidden_size, c.num_attention_heads, c.intermediate_size, activation="gelu",
        layer_norm_eps=c.layer_norm_eps, batch_first=True,
    )  # fmt: skip
    peer = nn.TransformerEncoder(layer, c.num_hidden_layers, enable_nested_tensor=False).eval()
    state = checkpoint.states["shared"]
    with torch.no_grad():
        for i, block in enumerate(peer.layers):
            at = f"encoder.layer.{i}."
            for kind, packed in (("weight", block.self_attn.in_proj_weight), ("bias", block.self_attn.in_proj_bias)):
                packed.copy_(torch.cat([state[f"{at}attention.self.{n}.{kind}"] for n in ("query", "key", "value")]))
            for module, name in (
                (block.self_attn.out_proj, "attention.output.dense"),
                (block.norm1, "attention.output.LayerNorm"),
                (block.linear1, "intermediate.dense"),
                (block.linear2, "output.dense"),
                (block.norm2, "output.LayerNorm"),
            ):
                module.weight.copy_(state[f"{at}{name}.weight"])
                module.bias.copy_(state[f"{at}{name}.bias"])
    model = checkpoint.model().question.bert.eval()
    ids = torch.tensor([[2, 8, 9, 10, 3], [2, 11, 3, 0, 0]])
    keep = ids != 0
    with torch.no_grad():
        own = model(ids, keep)
        other = peer(model.embeddings(ids), src_key_padding_mask=~keep)
    torch.testing.assert_close(own[keep], other[keep], rtol=0, atol=2e-6)


def test_the_servers_graph_gives_the_same_vectors() -> None:
    """The base encoder as the Go importer writes it, run by ONNX Runtime."""
    graph = cached("bundles", "base-fp32", "encoder.onnx")
    base = read_checkpoint(cached("checkpoints", "all-minilm-l6-v2"))
    assert (base.head.pooling, base.head.normalise, base.max_tokens) == ("mean", True, (64, 256))
    texts = ["what is a privacy policy?", "A short one", "déjà vu " * 30, "東京 and [SEP] as text"]
    rows = base.tokens.questions(texts, 64)
    own = encode_all(base.model().question, rows, base.tokens, Device())
    session = onnxruntime.InferenceSession(str(graph), providers=["CPUExecutionProvider"])
    ids, keep = base.tokens.pad_batch(rows)
    feed = {"input_ids": ids.numpy(), "attention_mask": keep.numpy().astype(np.int64)}
    feed["token_type_ids"] = np.zeros_like(feed["input_ids"])
    np.testing.assert_allclose(own.numpy(), session.run(None, feed)[0], atol=1e-5)


def test_golden_vectors() -> None:
    """Vectors that the published model's own library gave."""
    path = golden("golden/minilm.jsonl.gz")
    base = read_checkpoint(cached("checkpoints", "all-minilm-l6-v2"))
    with gzip.open(path, "rt") as file:
        lines = [json.loads(line) for line in file][:40]
    rows = base.tokens.questions([line["text"] for line in lines], 256)
    own = encode_all(base.model().question, rows, base.tokens, Device(), size=8)
    np.testing.assert_allclose(own.numpy(), [line["embedding"] for line in lines], atol=5e-6)


def test_dprs_two_encoders(tmp_path: Path) -> None:
    path, sums = tmp_path / "dpr", []
    plain: dict[str, torch.Tensor] = {}
    for more, prefix in enumerate(("question_encoder", "ctx_encoder")):
        folder = write_checkpoint(path / prefix)
        plain, _ = read_tensors(folder / "model.safetensors")
        old = {
            n.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): t + more
            for n, t in plain.items()
        }
        write_tensors(folder / "model.safetensors", {f"{prefix}.bert_model.{n}": t for n, t in old.items()}, {})
        sums.append(hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest())
    found = read_checkpoint(path)
    assert found.dpr
    assert list(found.states) == ["question", "passage"]
    for name, tensor in plain.items():
        assert torch.equal(found.states["question"][name], tensor)
        assert torch.equal(found.states["passage"][name], tensor + 1)
    assert not found.model().tied
    assert found.sha256 == hashlib.sha256("".join(f"{s}\n" for s in sums).encode()).hexdigest()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": "roberta"}, "model_type is 'roberta'"),
        ({"hidden_size": 48}, "has shape"),
        ({"num_hidden_layers": 3}, 'encoder.layer.2.attention.self.query.weight" is missing'),
        ({"hidden_act": "silu"}, "hidden_act"),
        ({"position_embedding_type": "relative_key"}, "only absolute"),
        ({"num_attention_heads": 5}, "no multiple"),
    ],
)
def test_a_checkpoint_that_does_not_fit(tmp_path: Path, change: dict[str, object], message: str) -> None:
    path = write_checkpoint(tmp_path / "base")
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(config | change))
    with pytest.raises(TrainingError, match=message):
        read_checkpoint(path)


def test_an_infinite_weight_is_refused(tmp_path: Path) -> None:
    path = write_checkpoint(tmp_path / "base")
    state, _ = read_tensors(path / "model.safetensors")
    state["embeddings.LayerNorm.bias"][3] = torch.inf
    write_tensors(path / "model.safetensors", state, {})
    with pytest.raises(TrainingError, match=r"embeddings\.LayerNorm\.bias"):
        read_checkpoint(path)


def test_config_describes_itself_like_the_server(checkpoint: Checkpoint) -> None:
    assert checkpoint.config.describe() == "bert, 2 layers of 32, 4 heads"
    assert checkpoint.licence == "apache-2.0"
    assert BertConfig.read(checkpoint.path / "config.json").output_size == 32
