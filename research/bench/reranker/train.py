"""Trains a cross-encoder from the base's weights on what the default finds, and measures it.

    conclave evaluate --collection policy --questions policy.train=DATA/policy/questions.train.jsonl.gz --limit 1000 \\
        --fusions none --alone=false --timed 0 --also "gate: gate experts=base" --runs runs/policy.train --run-forms trec --depth 50
    python research/bench/reranker/train.py --data DATA --runs runs --out marco --train wiki,policy --test demo.dev=demo/dev.jsonl

--runs has a folder for each domain and split with the default's ranking. Each step has a number of questions, each
with a passage that answers it and others of the default's first fifty; the loss is the cross entropy of the one that
answers under softmax(s + c d), s being the score of the cross-encoder and d the default's, by standard deviations:
so it learns what the default misses. What comes out is a folder as transformers writes it
(BertForSequenceClassification), which `conclave models import` takes. Domains that are not in --train are measured
as foreign ones.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import pathlib
import random
import re
import time

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional as F

from conclave_train.model.bert import Bert, BertConfig, Pooler
from conclave_train.model.checkpoint import read_checkpoint
from conclave_train.model.delta import read_delta
from conclave_train.model.tokens import Tokens
from conclave_train.reading.model import load_reader

QUESTION, READ = 40, 20  # tokens of a question in training; passages that are scored in service


def lines(path):
    """The records of a file of JSON Lines, gzip too."""
    with (gzip.open if str(path).endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


class CrossEncoder(nn.Module):
    """Ids, segments and mask [B,T] → logits [B]; the layout of BertForSequenceClassification."""

    def __init__(self, config, p):
        super().__init__()
        self.bert, self.pooler = Bert(config), Pooler(config)
        self.classifier = nn.Linear(config.hidden_size, 1)
        self.dropout = nn.Dropout(p)
        nn.init.eye_(self.pooler.dense.weight)
        nn.init.zeros_(self.pooler.dense.bias)
        nn.init.normal_(self.classifier.weight, std=0.02)
        nn.init.zeros_(self.classifier.bias)

    def forward(self, ids, segments, keep):
        e = self.bert.embeddings
        x = e.word_embeddings(ids) + e.token_type_embeddings(segments) + e.position_embeddings.weight[: ids.shape[1]]
        states = self.bert.encoder(e.dropout(e.LayerNorm(x)), keep)
        return self.classifier(self.dropout(self.pooler(states[:, 0]))).squeeze(-1).float()


class Selection(nn.Module):
    """A reader's selection in the place of a cross-encoder: ids, segments and mask [B,T] → logits [B]."""

    def __init__(self, base, bundle):
        super().__init__()
        self.reader = load_reader(read_checkpoint(base), read_delta(bundle / "delta.safetensors"))

    def forward(self, ids, segments, keep):
        return self.reader(ids, keep)[2]


class Set:
    """Questions of one domain and split with the default's first passages."""

    def __init__(self, name, passages, questions, run, tokens, depth=50):
        self.name, self.tokens = name, tokens
        self.text = {p["id"]: (p.get("title") or "", p["text"]) for p in passages}
        found = {}
        for line in open(run, encoding="utf-8"):
            query, _, passage, _, score, _ = line.split()
            found.setdefault(query.split("/", 1)[-1] if query.startswith(name + "/") else query, []).append((passage, float(score)))
        self.rows = []
        for q in questions:
            grades = {p: float(g) for p, g in (q.get("grades") or dict.fromkeys(q["positive_ids"], 1)).items() if g > 0}
            hits = found.get(q.get("id"), [])[:depth]
            if hits and grades:
                self.rows.append((q["question"], grades, q.get("answers") or [], hits))
        self.read, self.titled = {}, False

    def part(self, number):
        """Keeps so many questions, by a fixed shuffle."""
        random.Random(0).shuffle(self.rows)
        self.rows = self.rows[:number]
        return self

    def ids(self, text):
        if text not in self.read:
            self.read[text] = self.tokens.tokenizer.encode(text, add_special_tokens=False).ids
        return self.read[text]

    def pair(self, question, passage, longest):
        """[CLS] question [SEP] title. text [SEP]"""
        title, text = self.text[passage]
        q = self.ids(question.strip())[:QUESTION]
        if self.titled:  # as a reader has it
            head = [self.tokens.cls, *q, self.tokens.sep, *self.ids(title.strip())[:32], self.tokens.sep]
            return [*head, *self.ids(text)][:longest], len(head)
        t = self.ids(f"{title}. {text}" if title else text)[: longest - len(q) - 3]
        return [self.tokens.cls, *q, self.tokens.sep, *t, self.tokens.sep], len(q) + 2


def plain(text):
    return " ".join(re.findall(r"\w+", text.lower()))


def group(s, row, negatives, rng):
    """A passage that answers and others that do not: [(passage, the default's score)], the answer first; or None."""
    question, grades, answers, hits = row
    right = [h for h in hits if grades.get(h[0], 0) > 0]
    if not right:
        return None
    wanted = [w for w in map(plain, answers) if len(w) > 3]
    wrong = [h for h in hits if h[0] not in grades and not any(w in plain(s.text[h[0]][1]) for w in wanted)]
    first = wrong[:8]
    picked = rng.sample(first, min(len(first), (negatives + 1) // 2))
    rest = [h for h in wrong if h not in picked]
    picked += rng.sample(rest, min(len(rest), negatives - len(picked)))
    if len(picked) < negatives:
        return None
    deviation = np.std([h[1] for h in hits[:READ]]) + 1e-6
    top = hits[0][1]
    return [(p, (d - top) / deviation) for p, d in [rng.choice(right), *picked]]


def collate(pairs, pad):
    width = max(len(p) for p, _ in pairs)
    ids = torch.full((len(pairs), width), pad)
    segments, keep = torch.zeros_like(ids), torch.zeros(len(pairs), width, dtype=torch.bool)
    for i, (p, at) in enumerate(pairs):
        ids[i, : len(p)], keep[i, : len(p)], segments[i, at : len(p)] = torch.tensor(p), True, 1
    return ids, segments, keep


def score(model, s, longest, bf16, chunk=64):
    """The model's scores of the first READ passages of every question: a list of arrays."""
    model.eval()
    pairs = [(i, s.pair(q, p, longest)) for i, (q, _, _, hits) in enumerate(s.rows) for p, _ in hits[:READ]]
    order = sorted(range(len(pairs)), key=lambda i: len(pairs[i][1][0]))
    out = np.zeros(len(pairs))
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=bf16):
        for at in range(0, len(order), chunk):
            part = order[at : at + chunk]
            out[part] = model(*collate([pairs[i][1] for i in part], s.tokens.pad)).numpy()
    model.train()
    of = np.array([i for i, _ in pairs])
    return [out[of == i] for i in range(len(s.rows))]


def spread(x):
    return (x - x.max()) / (x.std() + 1e-6)


def measure(s, scores, weight):
    """Top-1 and nDCG@10 in percent, of each question, with the scores folded in at `weight` deviations."""
    top, ndcg = [], []
    for (_, grades, _, hits), said in zip(s.rows, scores):
        default = np.array([h[1] for h in hits])
        n = len(said)
        fused = spread(default[:n]) + weight * spread(said)
        order = [*np.argsort(-fused, kind="stable"), *range(n, len(hits))]
        gains = np.array([max(grades.get(hits[i][0], 0), 0) for i in order[:10]])
        ideal = np.sort([g for g in grades.values() if g > 0])[::-1][:10]
        discount = np.log2(np.arange(2, 12))
        top.append(100.0 * (gains[0] > 0))
        ndcg.append(100.0 * (gains / discount[: len(gains)]).sum() / (ideal / discount[: len(ideal)]).sum())
    return np.array(top), np.array(ndcg)


def p_value(a, b, rng, draws=4000):
    d = a - b
    d = d[d != 0]
    if not len(d):
        return 1.0
    flips = rng.choice([-1, 1], (draws, len(d)))
    return float((np.abs((flips * d).sum(1)) >= abs(d.sum()) - 1e-9).mean())


def table(tests, model, a):
    """Prints, for each set, the default and the default with the reranker at several weights."""
    rng = np.random.default_rng(0)
    print("| questions | number | default: top-1, nDCG@10 | alone | " + " | ".join(f"weight {w:g}" for w in a.weights) + " | p |")
    for s in tests:
        scores = score(model, s, a.tokens, a.bf16)
        before, after = measure(s, scores, 0), [measure(s, scores, w) for w in a.weights]
        alone = measure(s, scores, 1e6)
        cells = [f"{t.mean() - before[0].mean():+.1f}, {n.mean() - before[1].mean():+.1f}" for t, n in (alone, *after)]
        p = p_value(after[0][1], before[1], rng)
        print(f"| {s.name} | {len(s.rows)} | {before[0].mean():.1f}, {before[1].mean():.1f} | " + " | ".join(cells) + f" | {p:.3f} |", flush=True)


def save(model, config, base, out):
    """The folder of a BertForSequenceClassification with one label."""
    out.mkdir(parents=True, exist_ok=True)
    state = {f"bert.{k}": v for k, v in model.bert.state_dict().items()}
    state |= {f"bert.pooler.{k}": v for k, v in model.pooler.state_dict().items()}
    state |= {f"classifier.{k}": v for k, v in model.classifier.state_dict().items()}
    save_file({k: v.detach().float().contiguous() for k, v in state.items()}, out / "model.safetensors", {"format": "pt"})
    raw = json.loads((base / "config.json").read_text())
    raw |= {"architectures": ["BertForSequenceClassification"], "num_hidden_layers": config.num_hidden_layers, "id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}
    (out / "config.json").write_text(json.dumps(raw, indent=1))
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        (out / name).write_bytes((base / name).read_bytes())


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--data", type=pathlib.Path, required=True)
    args.add_argument("--runs", type=pathlib.Path, required=True)
    args.add_argument("--base", type=pathlib.Path, default=pathlib.Path.home() / ".cache/conclave/checkpoints/all-minilm-l6-v2")
    args.add_argument("--start", type=pathlib.Path, help="a folder that a run before wrote, in place of the base")
    args.add_argument("--reader", type=pathlib.Path, help="the bundle of a reader, whose selection is measured; nothing is trained")
    args.add_argument("--train", default="", help="domains, separated by commas")
    args.add_argument("--test", action="append", default=[], help="NAME.SPLIT=PASSAGES,QUESTIONS, or NAME.SPLIT of --data")
    args.add_argument("--out", type=pathlib.Path)
    args.add_argument("--layers", type=int, default=3)
    args.add_argument("--limit", type=int, default=600, help="questions of a domain")
    args.add_argument("--asked", type=int, default=200, help="questions of a set that is measured")
    args.add_argument("--negatives", type=int, default=5)
    args.add_argument("--batch", type=int, default=12, help="questions of a step")
    args.add_argument("--tokens", type=int, default=128)
    args.add_argument("--rate", type=float, default=2e-4)
    args.add_argument("--dropout", type=float, default=0.1)
    args.add_argument("--minutes", type=float, default=1e9, help="training ends then; the rate falls by time")
    args.add_argument("--bf16", action="store_true")
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--weights", type=lambda s: [float(w) for w in s.split(",")], default=[1.0, 0.5, 0.25, 2.0])
    a = args.parse_args()
    torch.manual_seed(a.seed)
    rng = random.Random(a.seed)
    raw = json.loads(((a.start or a.base) / "config.json").read_text())
    fields = BertConfig.__dataclass_fields__
    layers = raw["num_hidden_layers"] if a.start else a.layers
    config = BertConfig(**{k: v for k, v in raw.items() if k in fields} | {"num_hidden_layers": layers, "hidden_dropout_prob": a.dropout, "attention_probs_dropout_prob": 0.0})
    model = CrossEncoder(config, a.dropout)
    state = load_file((a.start or a.base) / "model.safetensors")
    if a.start:
        plainly = {k.removeprefix("bert.") if k.startswith("bert.pooler") else k: v for k, v in state.items()}
        model.load_state_dict(plainly, strict=False)
    else:
        model.bert.load_state_dict(state, strict=False)
    for p in (model.bert.embeddings.word_embeddings, model.bert.embeddings.position_embeddings):
        p.weight.requires_grad_(False)
    tokens = Tokens.read(a.base / "tokenizer.json")

    def load(name, spec=""):
        domain, split = name.rsplit(".", 1)
        if spec:
            passages, questions = spec.split(",")
            texts = [p for f in sorted(pathlib.Path().glob(passages) if not passages.startswith("/") else pathlib.Path("/").glob(passages[1:])) for p in lines(f)]
        else:
            texts, questions = lines(a.data / domain / "passages.jsonl.gz"), a.data / domain / f"questions.{split}.jsonl.gz"
        (run,) = (a.runs / name).glob("**/*.trec*")
        return Set(name, texts, lines(questions), run, tokens)

    tests = [load(*t.split("=", 1)).part(a.asked) for t in a.test]
    if a.reader:
        model = Selection(a.base, a.reader)
        for s in tests:
            s.titled = True
    elif a.train:
        sets = [load(f"{d}.train") for d in a.train.split(",")]
        asked = []
        for s in sets:
            rows = [(s, g, row[0]) for row in s.rows if (g := group(s, row, a.negatives, rng))]
            rng.shuffle(rows)
            asked += rows[: a.limit]
            print(f"{s.name}: {len(rows)} questions, {min(len(rows), a.limit)} taken", flush=True)
        rng.shuffle(asked)
        balance = nn.Parameter(torch.tensor(0.0))
        head = [*model.pooler.parameters(), *model.classifier.parameters(), balance]
        rest = [p for n, p in model.named_parameters() if p.requires_grad and not n.startswith(("pooler", "classifier"))]
        optimiser = torch.optim.AdamW([{"params": rest, "lr": a.rate}, {"params": head, "lr": a.rate * 5}], weight_decay=0.01)
        rates = [g["lr"] for g in optimiser.param_groups]
        begin, total, loss_seen, pairs = time.time(), math.ceil(len(asked) / a.batch), 0.0, 0
        for step in range(total):
            share = max(step / total, (time.time() - begin) / 60 / a.minutes)
            if share >= 1:
                break
            for g, rate in zip(optimiser.param_groups, rates):
                g["lr"] = rate * min(1.0, (step + 1) / 30) * (1 - share)
            part = asked[step * a.batch : (step + 1) * a.batch]
            texts = [s.pair(q, p, a.tokens) for s, g, q in part for p, _ in g]
            default = torch.tensor([[d for _, d in g] for _, g, _ in part], dtype=torch.float32)
            # Short and long pairs apart: what is padded is computed too.
            order = sorted(range(len(texts)), key=lambda i: len(texts[i][0]))
            said = [None] * len(texts)
            with torch.autocast("cpu", torch.bfloat16, enabled=a.bf16):
                for at in range(0, len(order), 32):
                    chunk = order[at : at + 32]
                    for i, x in zip(chunk, model(*collate([texts[i] for i in chunk], tokens.pad))):
                        said[i] = x
            z = torch.stack(said).view(len(part), -1) + balance.exp() * default
            loss = F.cross_entropy(z, torch.zeros(len(part), dtype=torch.long))
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_([*rest, *head], 1.0)
            optimiser.step()
            loss_seen += (loss.item() - loss_seen) / min(step + 1, 50)
            pairs += len(texts)
            if step % 20 == 19:
                alone = F.cross_entropy(balance.exp() * default, torch.zeros(len(part), dtype=torch.long)).item()
                print(f"{step + 1} of {total}: loss {loss_seen:.3f} (default alone {alone:.3f} in this one), default by {balance.exp().item():.2f}, {pairs / (time.time() - begin):.1f} pairs a second", flush=True)
        if a.out:
            save(model, config, a.base, a.out)
    table(tests, model, a)


if __name__ == "__main__":
    main()
