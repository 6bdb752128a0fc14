"""Distils the shipped reader's selection into a reranker of few layers, and measures both.

    for each collection:
    conclave export --collection nq --out passages/nq.jsonl
    conclave evaluate --collection nq --questions nq=questions.train.jsonl.gz --limit 2500 --fusions none --alone=false --timed 0 \\
        --also "gate: auto" --runs runs/nq.train --run-forms trec --depth 50
    python research/bench/reranker/distil.py teach --train nq,wiki --questions DATA --runs runs --passages passages --scores scores
    python research/bench/reranker/distil.py train --layers 0,2,4 --scores scores --out student.pt …
    python research/bench/reranker/distil.py measure --test cacm=questions.jsonl --cache cache --model student.pt …
    python research/bench/reranker/distil.py reach --test cacm=questions.jsonl --cache cache --model student.pt …
    python research/bench/reranker/distil.py export --model student.pt --out checkpoint
    conclave models import checkpoint --int8 --out bundle
    python research/bench/reranker/distil.py time --graph bundle/reranker.onnx --graph BUNDLES/reader/reader.onnx

`teach` writes what the reader says of some of the default's first fifty passages of every question. `train` starts
from the reader's own layers; its loss is the divergence of softmax(student + c d) from softmax(teacher + c d) over a
question's passages, d being the default's score by standard deviations, with the squared difference of the scores'
margins. `measure` folds scores into the default's ranking by standard deviations, and keeps them in the cache. `reach`
folds these in as the server does: at one weight, for passages near the first. Without --model both take the reader.
`export` writes a student as a BertForSequenceClassification. `time` prints the processor time that graphs take for 5, 10
and 20 passages, in turns.
"""

from __future__ import annotations

import argparse
import dataclasses
import gzip
import json
import math
import pathlib
import random
import shutil
import time

import numpy as np
import onnxruntime
import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F

from conclave_train.model.bert import Bert
from conclave_train.model.checkpoint import read_checkpoint
from conclave_train.model.delta import read_delta
from conclave_train.model.tokens import Tokens
from conclave_train.reading.model import load_reader

BASE = pathlib.Path.home() / ".cache/conclave/checkpoints/all-minilm-l6-v2"
QUESTION, TITLE = 64, 32  # tokens that a reader reads of both


def lines(path):
    """The records of a file of JSON Lines, gzip too."""
    with (gzip.open if str(path).endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


class Domain:
    """Questions of a domain with the default's ranking, and the tokens of its texts."""

    def __init__(self, name, passages, questions, run, tokens):
        self.name, self.tokens = name, tokens
        self.texts = {p["id"]: (p.get("title") or "", p["text"]) for p in lines(passages)}
        self.ids, self.cut = {}, {}
        found = {}
        for line in open(run, encoding="utf-8"):
            query, _, passage, _, score, _ = line.split()
            found.setdefault(query, []).append((passage, float(score)))
        self.rows = []  # id, question, grades, [(passage, score)]
        for n, q in enumerate(lines(questions)):
            key = next((k for k in (q.get("id"), f"{name}/{q.get('id')}", f"{name}/{n + 1}", f"q{n + 1}") if k in found), None)
            if key:
                grades = {p: float(g) for p, g in (q.get("grades") or dict.fromkeys(q["positive_ids"], 1)).items() if g > 0}
                self.rows.append((q["id"], q["question"].strip(), grades, found[key]))

    def pieces(self, text):
        if text not in self.ids:
            self.ids[text] = self.tokens.tokenizer.encode(text, add_special_tokens=False).ids
        return self.ids[text]

    def for_reader(self, question, passage, longest):
        """[CLS] question [SEP] title [SEP] text"""
        title, text = self.texts[passage]
        t, sep = self.tokens, self.tokens.sep
        return [t.cls, *self.pieces(question)[:QUESTION], sep, *self.pieces(title.strip())[:TITLE], sep, *self.pieces(text)][:longest]

    def for_student(self, question, passage, longest):
        """[CLS] question [SEP] title. text [SEP]"""
        title, text = self.texts[passage]
        t = self.tokens
        q = self.pieces(question)[: longest // 2]
        return [t.cls, *q, t.sep, *self.pieces(f"{title}. {text}" if title else text)[: longest - len(q) - 3], t.sep]


class Student(nn.Module):
    """Ids and mask [B,T] → logits [B]: some of the base's layers, and the head of a BertForSequenceClassification."""

    def __init__(self, config, layers):
        super().__init__()
        self.layers = layers
        self.bert = Bert(config)
        self.bert.encoder.layer = nn.ModuleList(self.bert.encoder.layer[i] for i in layers)
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.score = nn.Linear(config.hidden_size, 1)

    @torch.no_grad()
    def start(self, reader):
        """Begins as the reader's layers and selection do."""
        own = reader.tower.bert
        self.bert.embeddings.load_state_dict(own.embeddings.state_dict())
        for mine, i in zip(self.bert.encoder.layer, self.layers):
            mine.load_state_dict(own.encoder.layer[i].state_dict())
        self.dense.weight.copy_(0.2 * torch.eye(len(self.dense.weight)))
        self.dense.bias.zero_()
        self.score.weight.copy_(5 * reader.select.weight)
        self.score.bias.copy_(reader.select.bias)
        return self

    def forward(self, ids, keep):
        rows = self.bert.embeddings(ids)
        *layers, last = self.bert.encoder.layer
        for layer in layers:
            rows = layer(rows, keep)
        return self.score(torch.tanh(self.dense(self.first(last, rows, keep)))).squeeze(-1).float()

    @staticmethod
    def first(layer, rows, keep):
        """The first token's row of the last layer, which is all that the head reads: [B,T,D] → [B,D]."""
        own, (b, _, d) = layer.attention.self, rows.shape
        q, k, v = (f(x).view(b, x.shape[1], own.heads, -1).transpose(1, 2) for f, x in ((own.query, rows[:, :1]), (own.key, rows), (own.value, rows)))
        weights = (q @ k.transpose(2, 3) * (d // own.heads) ** -0.5).masked_fill(~keep[:, None, None, :], -1e30).softmax(-1)
        attended = layer.attention.output((weights @ v).transpose(1, 2).reshape(b, 1, d), rows[:, :1])
        return layer.output(layer.intermediate(attended), attended)[:, 0]


def batch(rows, pad):
    ids = torch.full((len(rows), max(map(len, rows))), pad)
    keep = torch.zeros(ids.shape, dtype=torch.bool)
    for i, row in enumerate(rows):
        ids[i, : len(row)], keep[i, : len(row)] = torch.tensor(row), True
    return ids, keep


def score(model, rows, pad, chunk=48):
    """What `model` says of each row, in batches of like lengths."""
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
    out = np.zeros(len(rows), np.float32)
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        for at in range(0, len(order), chunk):
            part = order[at : at + chunk]
            out[part] = model(*batch([rows[i] for i in part], pad)).float().numpy()
    return out


def selection(bundle):
    """The selection of a reader in 8 bits, as `conclave setup` makes it."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(str(bundle / "reader.onnx"), options)

    def say(ids, keep):
        inputs = {"input_ids": ids.numpy(), "attention_mask": keep.long().numpy(), "token_type_ids": np.zeros(ids.shape, np.int64)}
        return torch.from_numpy(session.run(["select"], inputs)[0])

    return say


def spread(x):
    x = np.asarray(x, float)
    return (x - x.max()) / (x.std() + 1e-6)


def teach(a, tokens):
    a.scores.mkdir(parents=True, exist_ok=True)
    rng, begin, done = random.Random(a.seed), time.time(), 0
    domains = [Domain(n, a.passages / f"{n}.jsonl", a.questions / n / "questions.train.jsonl.gz", next((a.runs / f"{n}.train").glob("*/*.trec")), tokens) for n in a.train.split(",")]
    for d in domains:
        rng.shuffle(d.rows)
    for part in range(math.ceil(max(len(d.rows) for d in domains) / a.part)):
        for d in domains:
            file = a.scores / f"{d.name}-{part}.json"
            rows = d.rows[part * a.part : (part + 1) * a.part]
            if file.exists() or not rows:
                continue
            groups = []
            for _, question, grades, hits in rows:
                if len(hits) < 10:
                    continue
                spreads = spread([s for _, s in hits[:10]]).tolist()
                top, deviation = hits[0][1], np.std([s for _, s in hits[:10]]) + 1e-6
                picked = sorted(rng.sample(range(10), a.near)) + sorted(rng.sample(range(10, len(hits)), min(a.far, len(hits) - 10)))
                groups.append((question, [(hits[i][0], spreads[i] if i < 10 else (hits[i][1] - top) / deviation, float(hits[i][0] in grades)) for i in picked]))
            texts = [d.for_reader(q, p, a.teacher_tokens) for q, g in groups for p, _, _ in g]
            said = iter(score(selection(a.bundle), texts, tokens.pad, 16).tolist())
            out = [(q, [(p, s, y, next(said)) for p, s, y in g]) for q, g in groups]
            file.with_suffix(".tmp").write_text(json.dumps(out))
            file.with_suffix(".tmp").rename(file)
            done += len(texts)
            print(f"{file.name}: {done} pairs, {done / (time.time() - begin):.1f} a second", flush=True)


def loss_of(student, teacher, default, label, a, balance):
    c = balance.exp()
    wanted = F.softmax(teacher + a.beside * default, -1)
    listwise = F.kl_div(F.log_softmax(student + a.beside * default, -1), wanted, reduction="batchmean")
    margins = F.mse_loss(student - student.mean(-1, keepdim=True), (teacher - teacher.mean(-1, keepdim=True)))
    some = label.sum(-1) > 0
    judged = torch.zeros(())
    if some.any():
        z = F.log_softmax(student + c * default, -1)[some]
        judged = -(z.masked_fill(label[some] == 0, -torch.inf).logsumexp(-1)).mean()
    return a.listwise * listwise + a.margins * margins + a.judged * judged, (listwise.item(), margins.item(), judged.item())


def train(a, reader, tokens, config):
    torch.manual_seed(a.seed)
    if a.start:
        model = load(a.start, config)[0].train()
    else:
        model = Student(config, [int(i) for i in a.layers.split(",")]).start(reader)
    for table in (model.bert.embeddings.word_embeddings, model.bert.embeddings.position_embeddings, model.bert.embeddings.token_type_embeddings):
        table.weight.requires_grad_(False)
    balance = nn.Parameter(torch.tensor(0.0))
    head = [*model.dense.parameters(), *model.score.parameters(), balance]
    rest = [p for p in model.bert.parameters() if p.requires_grad]
    adam = torch.optim.AdamW([{"params": rest, "lr": a.rate}, {"params": head, "lr": a.rate * 3}], weight_decay=0.01, betas=(0.9, 0.98))
    rates = [g["lr"] for g in adam.param_groups]
    domains, groups, seen = {}, [], set()

    def more():
        for file in sorted(a.scores.glob("*.json")):
            if file.name not in seen:
                seen.add(file.name)
                name = file.name.rsplit("-", 1)[0]
                if name not in domains:
                    domains[name] = Domain(name, a.passages / f"{name}.jsonl", "/dev/null", "/dev/null", tokens)
                groups.extend((domains[name], q, g) for q, g in json.loads(file.read_text()))

    rng, step, begin, pairs, mean, queue = random.Random(a.seed), 0, time.time(), 0, np.zeros(3), []
    while (share := (time.time() - begin) / 60 / a.minutes) < 1 and (not a.steps or step < a.steps):
        if len(queue) < a.batch:
            more()
            queue = groups[:]
            rng.shuffle(queue)
            print(f"{len(groups)} questions, {sum(len(g) for _, _, g in groups)} pairs", flush=True)
        if a.steps:
            share = step / a.steps
        for g, rate in zip(adam.param_groups, rates):
            g["lr"] = rate * min(1.0, (step + 1) / 50) * (1 - share)
        part = [queue.pop() for _ in range(a.batch)]
        width = min(len(g) for _, _, g in part)
        part = [(d, q, g[:width]) for d, q, g in part]
        texts = [d.for_student(q, p, a.tokens) for d, q, g in part for p, _, _, _ in g]
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        said = [None] * len(texts)
        with torch.autocast("cpu", torch.bfloat16):
            for at in range(0, len(order), 32):
                chunk = order[at : at + 32]
                for i, x in zip(chunk, model(*batch([texts[i] for i in chunk], tokens.pad))):
                    said[i] = x
        student = torch.stack(said).view(len(part), width)
        default, label, teacher = (torch.tensor([[x[i] for x in g] for _, _, g in part]) for i in (1, 2, 3))
        loss, parts = loss_of(student, teacher, default, label, a, balance)
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_([*rest, *head], 1.0)
        adam.step()
        step, pairs = step + 1, pairs + len(texts)
        mean += (np.array(parts) - mean) / min(step, 100)
        if step % a.say_every == 0:
            print(f"{step}: listwise {mean[0]:.3f}, margins {mean[1]:.3f}, judged {mean[2]:.3f}, default by {balance.exp().item():.2f}; {pairs} pairs, {pairs / (time.time() - begin):.1f} a second", flush=True)
        if step % a.save_every == 0:
            save(model, a)
    save(model, a)


def save(model, a):
    torch.save({"layers": model.layers, "weights": model.state_dict(), "tokens": a.tokens}, a.out.with_suffix(".tmp"))
    a.out.with_suffix(".tmp").rename(a.out)


def load(path, config):
    kept = torch.load(path)
    model = Student(config, kept["layers"])
    model.load_state_dict(kept["weights"])
    return model.eval(), kept["tokens"]


def ndcg(grades, hits, order):
    gains = np.array([grades.get(hits[i][0], 0) for i in order[:10]])
    ideal = np.sort(list(grades.values()))[::-1][:10]
    discount = np.log2(np.arange(2, 12))
    return 100 * (gains / discount[: len(gains)]).sum() / (ideal / discount[: len(ideal)]).sum(), 100.0 * (gains[0] > 0)


def measure(a, tokens, config):
    if a.model:
        model, longest = load(a.model, config)
        said_of = lambda d, q, p: d.for_student(q, p, longest)
    else:
        model = selection(a.bundle)
        said_of = lambda d, q, p: d.for_reader(q, p, a.teacher_tokens)
    depths, weights = (5, 10, 20), (0.25, 0.5, 1.0)
    sums = {}
    print("| domain | questions | default: top-1, nDCG@10 | " + " | ".join(f"{n} at {w:g}" for n in depths for w in weights) + " |")
    for spec in a.test:
        name, questions = spec.split("=")
        split = a.split
        d = Domain(name, a.passages / f"{name}.jsonl", questions, next((a.runs / f"{name}.{split}").glob("*/*.trec")), tokens)
        rows = [r for r in d.rows if r[2]][: a.asked]
        cache = (a.cache / f"{name}.{a.model.stem if a.model else 'reader'}.json") if a.cache else None
        if cache and cache.exists():
            said = json.loads(cache.read_text())
        else:
            begin = time.time()
            texts = [said_of(d, q, p) for _, q, _, hits in rows for p, _ in hits[: a.read]]
            flat = iter(score(model, texts, tokens.pad).tolist())
            said = [[next(flat) for _ in hits[: a.read]] for _, _, _, hits in rows]
            if cache:
                cache.parent.mkdir(exist_ok=True, parents=True)
                cache.write_text(json.dumps(said))
        before = np.array([ndcg(g, hits, range(len(hits))) for _, _, g, hits in rows])
        cells = []
        for n in depths:
            for w in weights:
                after = []
                for (_, _, g, hits), s in zip(rows, said):
                    k = min(n, len(s))
                    fused = spread([x for _, x in hits[:k]]) + w * spread(s[:k])
                    after.append(ndcg(g, hits, [*np.argsort(-fused, kind="stable"), *range(k, len(hits))]))
                gain = np.array(after).mean(0) - before.mean(0)
                sums.setdefault((n, w), []).append(gain)
                cells.append(f"{gain[1]:+.1f}, {gain[0]:+.1f}")
        print(f"| {name} | {len(rows)} | {before[:, 1].mean():.1f}, {before[:, 0].mean():.1f} | " + " | ".join(cells) + " |", flush=True)
    print("| mean | | | " + " | ".join("{1:+.1f}, {0:+.1f}".format(*np.mean(g, 0)) for g in sums.values()) + " |")


def reach(a):
    """Prints what the cached scores are worth at one weight of their own scale, for passages within reach of the first."""
    sets = []
    for spec in a.test:
        name, questions = spec.split("=")
        d = Domain(name, a.passages / f"{name}.jsonl", questions, next((a.runs / f"{name}.{a.split}").glob("*/*.trec")), None)
        said = json.loads((a.cache / f"{name}.{a.model.stem if a.model else 'reader'}.json").read_text())
        sets.append([(grades, hits, np.array(s)) for (_, _, grades, hits), s in zip([r for r in d.rows if r[2]], said)])
    weights = (0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.1, 0.12)
    for most in (5, 10, 20):
        for log_odds in (3, 4, 5, 6, 1e9):
            gains, read = np.zeros((len(weights), len(sets), 2)), np.zeros(len(weights))
            for i, w in enumerate(weights):
                counts = []
                for j, rows in enumerate(sets):
                    for grades, hits, s in rows:
                        scores = np.array([x for _, x in hits])
                        k = min(most, len(s), int((scores >= scores[0] - log_odds * w).sum()))
                        k = 0 if k < 2 else k
                        counts.append(k)
                        order = [*np.argsort(-(scores[:k] + w * s[:k]), kind="stable"), *range(k, len(hits))]
                        gains[i, j] += (np.array(ndcg(grades, hits, order)) - ndcg(grades, hits, range(len(hits)))) / len(rows)
                read[i] = np.mean(counts)
            best = [int(np.argmax(np.delete(gains[:, :, 0], j, 1).mean(1))) for j in range(len(sets))]
            left_out = np.mean([gains[b, j, 0] for j, b in enumerate(best)])
            print(f"at most {most} within {log_odds:g} log-odds; weights chosen without the domain: {left_out:+.2f}")
            for i, w in enumerate(weights):
                cells = " ".join(f"{g:+.1f}" for g in gains[i, :, 0])
                print(f"  {w:g}: {cells}, mean {gains[i, :, 0].mean():+.2f}, top-1 {gains[i, :, 1].mean():+.2f}, {read[i]:.1f} passages")


def export(a):
    """Writes the student as a checkpoint that `conclave models import` reads."""
    kept = torch.load(a.model)
    names = {"dense.": "bert.pooler.dense.", "score.": "classifier."}
    weights = {}
    for name, tensor in kept["weights"].items():
        old = next((n for n in names if name.startswith(n)), "")
        weights[names.get(old, "") + name[len(old) :]] = tensor.contiguous()
    a.out.mkdir(parents=True, exist_ok=True)
    save_file(weights, a.out / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((a.base / "config.json").read_text())
    config |= {"num_hidden_layers": len(kept["layers"]), "architectures": ["BertForSequenceClassification"], "id2label": {"0": "answers"}}
    (a.out / "config.json").write_text(json.dumps(config))
    shutil.copy(a.base / "tokenizer.json", a.out)


def measure_time(a):
    """Prints milliseconds of processor time, one thread, medians; the graphs take turns."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    sessions = [onnxruntime.InferenceSession(str(g), options) for g in a.graph]
    draw = np.random.default_rng(a.seed)
    print("| graph | tokens of a pair | " + " | ".join(f"{n} passages" for n in (5, 10, 20)) + " |")
    for tokens in (100, 160):
        took = {}
        for _ in range(a.rounds):
            for n in (5, 10, 20):
                ids = draw.integers(1000, 20000, (n, tokens))
                inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
                for graph, session in zip(a.graph, sessions):
                    begin = time.process_time()
                    session.run(None, inputs)
                    took.setdefault((graph, n), []).append(1000 * (time.process_time() - begin))
        for graph in a.graph:
            print(f"| {graph} | {tokens} | " + " | ".join(f"{np.median(took[graph, n]):.0f}" for n in (5, 10, 20)) + " |")


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("what", choices=("teach", "train", "measure", "reach", "export", "time"))
    args.add_argument("--questions", type=pathlib.Path, help="folder with DOMAIN/questions.train.jsonl.gz")
    args.add_argument("--runs", type=pathlib.Path, default=pathlib.Path("runs"))
    args.add_argument("--passages", type=pathlib.Path, default=pathlib.Path("passages"))
    args.add_argument("--scores", type=pathlib.Path, default=pathlib.Path("scores"))
    args.add_argument("--cache", type=pathlib.Path)
    args.add_argument("--base", type=pathlib.Path, default=BASE)
    args.add_argument("--reader", type=pathlib.Path, default=pathlib.Path("shipped/reader"))
    args.add_argument("--bundle", type=pathlib.Path, default=pathlib.Path.home() / ".cache/conclave/bundles/reader")
    args.add_argument("--train", default="", help="domains, separated by commas")
    args.add_argument("--test", action="append", default=[], help="NAME=QUESTIONS")
    args.add_argument("--split", default="test")
    args.add_argument("--read", type=int, default=20, help="passages that are scored")
    args.add_argument("--asked", type=int, default=200, help="questions of a set that is measured")
    args.add_argument("--model", type=pathlib.Path)
    args.add_argument("--out", type=pathlib.Path)
    args.add_argument("--graph", type=pathlib.Path, action="append", default=[], help="graph of ONNX Runtime to time")
    args.add_argument("--rounds", type=int, default=30, help="how often a graph is timed")
    args.add_argument("--start", type=pathlib.Path, help="a student to go on with, in place of the reader's layers")
    args.add_argument("--layers", default="0,2,4")
    args.add_argument("--part", type=int, default=100, help="questions of a file of scores")
    args.add_argument("--near", type=int, default=6)
    args.add_argument("--far", type=int, default=2)
    args.add_argument("--teacher-tokens", type=int, default=160)
    args.add_argument("--tokens", type=int, default=128)
    args.add_argument("--batch", type=int, default=8)
    args.add_argument("--rate", type=float, default=2e-4)
    args.add_argument("--listwise", type=float, default=1.0)
    args.add_argument("--margins", type=float, default=0.05)
    args.add_argument("--judged", type=float, default=0.3)
    args.add_argument("--beside", type=float, default=1.0)
    args.add_argument("--minutes", type=float, default=60)
    args.add_argument("--steps", type=int, default=0)
    args.add_argument("--say-every", type=int, default=50)
    args.add_argument("--save-every", type=int, default=200)
    args.add_argument("--threads", type=int, default=1)
    args.add_argument("--seed", type=int, default=1)
    a = args.parse_args()
    torch.set_num_threads(a.threads)
    if a.what == "reach":
        reach(a)
        return
    if a.what in ("export", "time"):
        (export if a.what == "export" else measure_time)(a)
        return
    base = read_checkpoint(a.base)
    tokens = Tokens.read(a.base / "tokenizer.json")
    if a.what == "teach":
        teach(a, tokens)
    elif a.what == "train":
        reader = load_reader(base, read_delta(a.reader / "delta.safetensors")).eval()
        train(a, reader, tokens, dataclasses.replace(base.config, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
    else:
        measure(a, tokens, base.config)


if __name__ == "__main__":
    main()
