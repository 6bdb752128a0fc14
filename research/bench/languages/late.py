"""Is a head of late interaction on the encoder for many languages worth its bytes?

    python late.py --bundle ~/.cache/conclave/bundles/multilingual --data DATA --work OUT

The encoder stays as it is. A head (64 numbers a token and an importance, as conclave-train late has it) is trained on
English questions of DATA (folders with passages.jsonl.gz and questions.train.jsonl.gz), and once more with the dev half
of research/data/languages in all pairs of its languages. Printed is how many of its test questions have the right
passage first: by the vectors of whole texts alone, by the head alone, and by both at the weight that is best on the
dev half. OUT keeps the states, which take most of the time.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from tokenizers import Tokenizer
from torch.nn import functional as F

LANGUAGES = ("en", "de", "fr", "es", "zh", "ja")
SET = Path(__file__).resolve().parents[2] / "data" / "languages"
STATES = "pool.row"  # the input of this node's product with the states, in graphs that conclave writes
PASSAGE_TOKENS, QUESTION_TOKENS = 192, 64


class Encoder:
    """The bundle's encoder, with the state of each token beside the vector of the text."""

    def __init__(self, bundle: Path, work: Path, threads: int) -> None:
        model = onnx.load(str(bundle / "encoder.onnx"))
        product = next(node for node in model.graph.node if node.op_type == "MatMul" and node.input[0] == STATES)
        model.graph.output.append(onnx.helper.make_tensor_value_info(product.input[1], onnx.TensorProto.FLOAT, None))
        graph = work / "states.onnx"
        onnx.save(model, str(graph))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
        self.tokenizer = Tokenizer.from_file(str(bundle / "tokenizer.json"))

    def encode(self, texts: list[str], limit: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each text its vector and its tokens' states, fp16."""
        self.tokenizer.enable_truncation(limit)
        out: list[tuple[np.ndarray, np.ndarray]] = []
        for text in texts:
            ids = np.array([self.tokenizer.encode(text).ids], dtype=np.int64)
            whole, states = self.session.run(
                None, {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
            )
            out.append((whole[0], states.reshape(ids.shape[1], -1).astype(np.float16)))
            if len(out) % 200 == 0:
                print(f"  {len(out)} of {len(texts)} texts", flush=True)
        return out


def lines(path: Path) -> list[dict]:
    """The records of a file of JSON Lines, gzipped or not."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def passage_text(p: dict) -> str:
    """What the encoder gets of a passage."""
    return "passage: " + (p["title"] + ". " if p.get("title") else "") + p["text"]


def question_text(q: dict) -> str:
    """What the encoder gets of a question."""
    return "query: " + q["question"]


def kept(path: Path, make) -> list:
    """What make returns, kept in a file for the next run."""
    if not path.exists():
        torch.save(make(), path)
    return torch.load(path, weights_only=False)


class Head(torch.nn.Module):
    """Vectors and importances of tokens, as conclave_train.interaction.head."""

    def __init__(self, projection: torch.Tensor) -> None:
        super().__init__()
        self.projection = torch.nn.Parameter(projection.clone())
        self.importance = torch.nn.Linear(projection.shape[1], 1)
        torch.nn.init.zeros_(self.importance.weight)
        torch.nn.init.constant_(self.importance.bias, 0.54)

    def vectors(self, states: torch.Tensor) -> torch.Tensor:
        return F.normalize(F.normalize(states, dim=-1) @ self.projection.T, dim=-1)

    def weights(self, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        raw = F.softplus(self.importance(F.normalize(states, dim=-1)).squeeze(-1)) * mask
        return raw / raw.sum(-1, keepdim=True)


def padded(some: list[np.ndarray]) -> tuple[torch.Tensor, torch.Tensor]:
    """States of several texts in one tensor, and which of its rows are tokens."""
    longest = max(len(x) for x in some)
    states = torch.zeros(len(some), longest, some[0].shape[1])
    mask = torch.zeros(len(some), longest, dtype=torch.bool)
    for i, x in enumerate(some):
        states[i, : len(x)] = torch.from_numpy(x.astype(np.float32))
        mask[i, : len(x)] = True
    return states, mask


def scores(head: Head, questions: list[np.ndarray], passages: list[np.ndarray]) -> torch.Tensor:
    """Every question's score of every passage."""
    q, q_mask = padded(questions)
    p, p_mask = padded(passages)
    weights = head.weights(q, q_mask)
    products = torch.einsum("qid,pjd->qpij", head.vectors(q), head.vectors(p))
    best = products.masked_fill(~p_mask[None, :, None, :], -1).amax(-1)
    return (best * weights[:, None, :]).sum(-1)


def train(begin: torch.Tensor, pairs: list[tuple[np.ndarray, np.ndarray, np.ndarray]], seed: int, epochs: int) -> Head:
    """A head that puts each question's passage before its negative and before the other questions' passages."""
    torch.manual_seed(seed)
    rng = random.Random(seed)
    head = Head(begin)
    optimiser = torch.optim.AdamW(head.parameters(), lr=1e-3)
    temperature = 0.05
    for _ in range(epochs):
        rng.shuffle(pairs)
        for at in range(0, len(pairs) - 15, 16):
            batch = pairs[at : at + 16]
            s = scores(head, [b[0] for b in batch], [b[1] for b in batch] + [b[2] for b in batch])
            loss = F.cross_entropy(s / temperature, torch.arange(len(batch)))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return head


def standard(s: torch.Tensor) -> torch.Tensor:
    """Each question's scores with mean 0 and deviation 1."""
    return (s - s.mean(1, keepdim=True)) / s.std(1, keepdim=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--domains", default="wiki,policy,nq,fairytale,amazon")
    parser.add_argument("--questions", type=int, default=600, help="training questions of each domain")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(args.threads)
    encoder = Encoder(args.bundle, args.work, args.threads)

    texts: dict[str, list] = {}
    for language in LANGUAGES:
        for kind, text, limit in (("passages", passage_text, 512), ("questions", question_text, 128)):
            records = lines(SET / f"{kind}.{language}.jsonl")
            name = f"{kind}.{language}"
            texts[name] = kept(
                args.work / f"{name}.pt", lambda r=records, t=text, n=limit: encoder.encode([t(x) for x in r], n)
            )
    ids = [p["id"] for p in lines(SET / "passages.en.jsonl")]
    asked = lines(SET / "questions.en.jsonl")
    right = torch.tensor([ids.index(q["positive_ids"][0]) for q in asked])
    dev = torch.tensor([q["half"] == "dev" for q in asked])

    def training_texts() -> list:
        rng, out = random.Random(7), []
        for domain in args.domains.split(","):
            passages = {p["id"]: p for p in lines(args.data / domain / "passages.jsonl.gz")}
            chosen = lines(args.data / domain / "questions.train.jsonl.gz")
            rng.shuffle(chosen)
            chosen = [q for q in chosen if q["positive_ids"]][: args.questions]
            names = sorted({q["positive_ids"][0] for q in chosen})
            print(f"{domain}: {len(chosen)} questions, {len(names)} passages", flush=True)
            coded = dict(
                zip(names, encoder.encode([passage_text(passages[n]) for n in names], PASSAGE_TOKENS), strict=True)
            )
            asked = encoder.encode([question_text(q) for q in chosen], QUESTION_TOKENS)
            whole = np.stack([coded[n][0] for n in names])
            for q, (vector, states) in zip(chosen, asked, strict=True):
                mine = q["positive_ids"][0]
                order = [names[i] for i in np.argsort(-whole @ vector)[:12] if names[i] not in q["positive_ids"]]
                out.append((states, coded[mine][1], coded[rng.choice(order)][1]))
        return out

    pairs = kept(args.work / "training.pt", training_texts)
    sample = torch.cat([F.normalize(torch.from_numpy(p[1].astype(np.float32)), dim=-1) for p in pairs[:400]])
    _, _, directions = torch.linalg.svd(sample.T @ sample)
    begin = directions[:64]

    translated = []
    rng = random.Random(11)
    for at in torch.nonzero(dev).squeeze(1).tolist():
        for a in LANGUAGES:
            for b in LANGUAGES:
                other = rng.choice([i for i in range(len(ids)) if i != right[at] and dev[i]])
                translated.append(
                    (
                        texts[f"questions.{a}"][at][1],
                        texts[f"passages.{b}"][right[at]][1],
                        texts[f"passages.{b}"][other][1],
                    )
                )

    heads = {"before training": [Head(begin)]}
    heads["trained in English"] = [train(begin, list(pairs), seed, args.epochs) for seed in (1, 2)]
    heads["and on translations"] = [train(begin, pairs + translated, seed, args.epochs) for seed in (1, 2)]
    print("| head | questions > passages | vectors | head alone | both | weight |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    with torch.no_grad():
        for name, some in heads.items():
            for a, b in (
                [(x, x) for x in LANGUAGES] + [(x, "en") for x in LANGUAGES[1:]] + [("en", x) for x in LANGUAGES[1:]]
            ):
                questions, passages = texts[f"questions.{a}"], texts[f"passages.{b}"]
                whole = torch.from_numpy(np.stack([q[0] for q in questions]) @ np.stack([p[0] for p in passages]).T)
                rows = []
                for head in some:
                    states, others = [q[1] for q in questions], [p[1] for p in passages]
                    late = torch.cat([scores(head, states[i : i + 8], others) for i in range(0, len(states), 8)])

                    def first(s: torch.Tensor, half: torch.Tensor) -> float:
                        return 100 * (s.argmax(1) == right)[half].float().mean().item()

                    weights = (0.25, 0.5, 1.0, 2.0)
                    both = [standard(whole) + w * standard(late) for w in weights]
                    best = max(range(len(weights)), key=lambda i: first(both[i], dev))
                    rows.append((first(whole, ~dev), first(late, ~dev), first(both[best], ~dev), weights[best]))
                mean = np.mean(np.array(rows), 0)
                print(
                    f"| {name} | {a} > {b} | {mean[0]:.1f} | {mean[1]:.1f} | {mean[2]:.1f} | {mean[3]:.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
