"""Write tiny readers and what PyTorch's transformers computes with them, for reader_test.go.

    pip install torch transformers safetensors
    python make.py FOLDER

The weights are random and seeded. dpr and squad are checkpoints as they are published;
logits.json has for rows of token ids the start and end of each token, and DPR's relevance.
"""

import json
import sys
from pathlib import Path

import torch
from transformers import BertConfig, BertForQuestionAnswering, DPRConfig, DPRReader

WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] . ? , the of about in some who what when one two wolf river ##s old".split()
SHAPE = dict(
    vocab_size=len(WORDS), hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=40,
    max_position_embeddings=120,
)
CLS, SEP = WORDS.index("[CLS]"), WORDS.index("[SEP]")


def draw(model):
    """Weights large enough that the logits differ, norms near the identity."""
    torch.manual_seed(7)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "LayerNorm.weight" in name:
                parameter.uniform_(0.8, 1.2)
            else:
                parameter.normal_(std=0.1 if name.endswith("bias") else 0.25)
    return model.eval()


def rows(squad):
    """Rows of token ids of several lengths."""
    generator = torch.Generator().manual_seed(3)
    for question, title, text in ((3, 0, 1), (1, 2, 9), (7, 1, 30), (5, 0, 80)):
        words = lambda n: torch.randint(5, len(WORDS), (n,), generator=generator).tolist()
        if squad:
            yield [CLS, *words(question), SEP, *words(text), SEP], question + 2
        else:
            yield [CLS, *words(question), SEP, *words(title), SEP, *words(text)], None


def main(out):
    golden = {}
    for name, model in (
        ("dpr", DPRReader(DPRConfig(**SHAPE, projection_dim=0))),
        ("squad", BertForQuestionAnswering(BertConfig(**SHAPE))),
    ):
        draw(model).save_pretrained(out / name)
        (out / name / "vocab.txt").write_text("\n".join(WORDS) + "\n")
        golden[name] = []
        for ids, second in rows(name == "squad"):
            given = {"input_ids": torch.tensor([ids])}
            if second:
                given["token_type_ids"] = torch.tensor([[int(i >= second) for i in range(len(ids))]])
            with torch.no_grad():
                said = model(**given)
            rounded = lambda x: [round(v, 6) for v in x.flatten().tolist()]
            row = {"ids": ids, "start": rounded(said.start_logits), "end": rounded(said.end_logits)}
            if name == "dpr":
                row["select"] = rounded(said.relevance_logits)[0]
            golden[name].append(row)
    (out / "logits.json").write_text(json.dumps(golden) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
