"""A BERT and a T5 of random weights, whose vocabulary is some words."""

import json

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from conclave_train.model.bert import BertConfig
from conclave_train.model.t5 import T5, T5Config
from conclave_train.model.tensors import write_tensors
from conclave_train.model.tower import Head, Tower


def make_base(folder, words, hidden, layers, seed):
    """A BERT of random weights whose vocabulary is ``words``."""
    config = {
        "model_type": "bert", "vocab_size": len(words) + 5, "hidden_size": hidden, "num_hidden_layers": layers,
        "num_attention_heads": 4, "intermediate_size": 4 * hidden, "max_position_embeddings": 128,
        "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
    }  # fmt: skip
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]) + "\n")
    (folder / "modules.json").write_text(
        json.dumps([{"path": "1_Pooling", "type": "models.Pooling"}, {"path": "2", "type": "models.Normalize"}])
    )
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_mean_tokens": True}))
    torch.manual_seed(seed)
    tower = Tower(BertConfig.read(folder / "config.json"), Head("mean", True))
    with torch.no_grad():
        for name, p in tower.named_parameters():
            if p.dim() > 1:
                p.normal_(std=1.0 if "word_embeddings" in name else 0.05)
    write_tensors(folder / "model.safetensors", tower.plain_state(), {"format": "pt"})


def make_t5(folder, words, width, layers, seed):
    """A T5 of random weights whose tokens are ``words``.

    The encoder's keys are projected as its queries are, as random as these: a word then looks to where it stands again
    a little more than elsewhere, and what has to be learned, that the question's name is the passage's, begins there.
    """
    vocabulary = {w: i for i, w in enumerate(["<pad>", "</s>", "<unk>", *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    folder.mkdir(parents=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    heads = 4
    config = {
        "model_type": "t5", "vocab_size": len(vocabulary), "d_model": width, "d_kv": width // heads, "d_ff": 2 * width,
        "num_layers": layers, "num_decoder_layers": 2, "num_heads": heads, "decoder_start_token_id": 0,
        "feed_forward_proj": "relu", "relative_attention_num_buckets": 16, "relative_attention_max_distance": 64,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    torch.manual_seed(seed)
    model = T5(T5Config.read(folder / "config.json"), False, 0.0)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if name == "shared.weight":
                p.normal_(std=1.0)
            elif p.dim() > 1:
                p.normal_(std=p.shape[1] ** -0.5 * (config["d_kv"] ** -0.25 / 2 if name.endswith("q.weight") else 1.0))
        for block in model.encoder.block:
            attention = block.layer[0].SelfAttention
            attention.q.weight.normal_(std=2 * (width * config["d_kv"]) ** -0.5)
            attention.k.weight.copy_(attention.q.weight)
    write_tensors(folder / "model.safetensors", model.state_dict(), {"format": "pt"})
