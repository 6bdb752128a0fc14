"""Whether the distance to the training questions tells DESIRE-ME's gate which questions are of no domain of its.

    conclave serve --collection any-with-base-and-desire-me
    python research/bench/gate/distance.py --data DATA --server http://127.0.0.1:8080 --head shipped/desire-me/head.onnx

A question's two inputs are the widest gate's logit and its nearness: the mean cosine, by the base's vectors, of the ten
nearest training questions of the head's domains. A logistic function of one or both is fitted to half of the domains'
development questions and to all foreign sets but one, and judged on the other half and the set left out: AUROC of
own against foreign, and how many own questions are closed where 90 % of the foreign ones are. Needs onnxruntime."""

import argparse
import gzip
import hashlib
import json
import urllib.request
from pathlib import Path

import numpy as np
import onnxruntime

DOMAINS = ["wiki", "amazon", "fairytale", "medquad", "policy", "nq", "covid"]
FOREIGN = ["cacm", "cranfield", "pubmedqa", "scifact", "nfcorpus"]
NEAREST = 10


def questions(folder, splits, count):
    """The first texts by the SHA-256 of their ids."""
    rows = []
    for split in splits:
        path = folder / f"questions.{split}.jsonl.gz"
        if path.exists():
            rows += [json.loads(line) for line in gzip.open(path, "rt", encoding="utf-8")]
    rows.sort(key=lambda q: hashlib.sha256(str(q["id"]).encode()).hexdigest())
    return [q["question"] for q in rows[:count]]


def encode(server, texts):
    """The base's vectors of questions, of unit length."""
    out = []
    for i in range(0, len(texts), 32):
        body = json.dumps({"inputs": texts[i : i + 32], "truncate": True}).encode()
        request = urllib.request.Request(f"{server}/embed", body, {"Content-Type": "application/json"})
        out += json.load(urllib.request.urlopen(request))
    vectors = np.array(out, np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def auroc(own, foreign):
    """The chance that one of ``own`` is above one of ``foreign``."""
    order = np.argsort(np.concatenate([own, foreign]), kind="stable")
    ranks = np.empty(len(order))
    ranks[order] = np.arange(1, len(order) + 1)
    return (ranks[: len(own)].sum() - len(own) * (len(own) + 1) / 2) / (len(own) * len(foreign))


def fit(x, y, w, steps=400):
    """Weights of a logistic function of standardised inputs, by Newton's method with a small ridge."""
    x = np.c_[x, np.ones(len(x))]
    b = np.zeros(x.shape[1])
    for _ in range(steps):
        p = 1 / (1 + np.exp(-np.clip(x @ b, -30, 30)))
        grad = x.T @ (w * (p - y)) + 1e-3 * b
        hess = (x * (w * p * (1 - p))[:, None]).T @ x + 1e-3 * np.eye(len(b))
        step = np.linalg.solve(hess, grad)
        b -= step
        if np.abs(step).max() < 1e-8:
            break
    return b


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--server", required=True)
    parser.add_argument("--head", type=Path, required=True)
    parser.add_argument("--train", type=int, default=1000, help="training questions of each domain")
    parser.add_argument("--asked", type=int, default=150, help="questions of each domain and foreign set")
    o = parser.parse_args()
    session = onnxruntime.InferenceSession(str(o.head), providers=["CPUExecutionProvider"])

    known = encode(o.server, [t for d in DOMAINS for t in questions(o.data / d, ["train"], o.train)])

    def inputs(texts):
        vectors = encode(o.server, texts)
        gates = []
        for v in vectors:
            values = dict(
                zip([x.name for x in session.get_outputs()], session.run(None, {session.get_inputs()[0].name: v[None]}))
            )
            gates.append(max(np.ravel(values[min(values, key=lambda n: np.size(values[n]))])))
        gates = np.clip(np.array(gates, np.float64), 1e-9, 1 - 1e-9)
        near = np.sort(vectors @ known.T, axis=1)[:, -NEAREST:].mean(axis=1)
        return np.c_[np.log(gates / (1 - gates)), near], gates

    own = [inputs(questions(o.data / d, ["dev"], o.asked)) for d in DOMAINS]
    foreign = {d: inputs(questions(o.data / d, ["dev", "train", "test"], o.asked)) for d in FOREIGN}
    train, test = np.concatenate([x[::2] for x, _ in own]), np.concatenate([x[1::2] for x, _ in own])
    print(f"own questions with every gate below 0.3: {100 * np.mean(np.concatenate([g for _, g in own]) < 0.3):.1f} %")
    ways = {"gate": [0], "nearness": [1], "both": [0, 1]}
    print("| left out | gates below 0.3 | " + " | ".join(f"{w}: AUROC | own closed at 90" for w in ways) + " |")
    means = []
    for out in FOREIGN:
        others = np.concatenate([x for d, (x, _) in foreign.items() if d != out])
        x, y = np.concatenate([train, others]), np.r_[np.ones(len(train)), np.zeros(len(others))]
        w = np.r_[np.full(len(train), 0.5 / len(train)), np.full(len(others), 0.5 / len(others))] * len(x)
        middle, width = x.mean(axis=0), x.std(axis=0)
        row = []
        for columns in ways.values():
            b = fit(((x - middle) / width)[:, columns], y, w)
            of = lambda a, b=b, c=columns: np.c_[((a - middle) / width)[:, c], np.ones(len(a))] @ b  # noqa: E731
            mine, others_said = of(test), of(foreign[out][0])
            row += [auroc(mine, others_said), 100 * np.mean(mine < np.quantile(others_said, 0.9))]
        means.append(row)
        print(
            f"| {out} | {100 * np.mean(foreign[out][1] < 0.3):.1f} | "
            + " | ".join(f"{v:.3f}" if v <= 1 else f"{v:.1f}" for v in row)
            + " |"
        )
    print("| mean |  | " + " | ".join(f"{v:.3f}" if v <= 1 else f"{v:.1f}" for v in np.mean(means, axis=0)) + " |")


main()
