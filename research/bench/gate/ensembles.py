"""Ensembles of another training, and their certainty beside familiarity and an oracle that knows the domain.

    conclave index --collection tiny --experts base,wiki,amazon,… --in FEW && conclave serve --collection tiny
    PYTHONPATH=training/src python research/bench/gate/ensembles.py --data DATA --server http://127.0.0.1:8080 --vectors V

DATA is a folder with a folder for each domain, named as its expert. Training questions of each domain, the passages that
answer them and the development questions, and some others are encoded by every expert through the server, and kept in V.
Ensembles are trained on these vectors as `conclave-train ensemble` does it, on questions of the expert's own domain or of
all. A row has an expert's weight in the sum of the specialists' scores: the certainty to a power, with the share by
familiarity or without. Nothing else is fitted. Differences to the oracle have p by paired randomisation."""

import argparse
import gzip
import hashlib
import json
import re
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import torch

from conclave_train.fit.schedule import rate
from conclave_train.muf.confidence import auroc, confidence
from conclave_train.muf.members import Members, ensemble_loss

DOMAINS = ["wiki", "amazon", "fairytale", "medquad", "policy", "nq", "covid"]
TEMPERATURE, BATCH, HITS = 0.05, 128, 100
VARIANTS = {
    "own domain (the paper)": {"own": True},
    "all domains": {},
    "all, 20 members": {"members": 20},
    "all, bagging: members of half of the questions, 20 of them, 8 passes": {"share": 0.5, "members": 20, "epochs": 8},
    "all, one hard negative": {"hard": 1},
    "all, 128 units, 8 passes": {"hidden": 128, "epochs": 8},
    "all, 512 units without a skip, 40 passes": {"hidden": 512, "epochs": 40, "residual": False, "learning_rate": 5e-4},
}


def gather(data, trained, asked, others):
    """Passages and questions of all domains, chosen by the SHA-256 of their ids."""
    read = lambda path: [json.loads(line) for line in gzip.open(path, "rt", encoding="utf-8")]  # noqa: E731
    order = lambda name: hashlib.sha256(name.encode()).hexdigest()  # noqa: E731
    passages, questions, places = [], [], {}
    for domain in DOMAINS:
        known = {p["id"]: p for p in read(data / domain / "passages.jsonl.gz")}
        named = []
        for split, count in (("train", trained), ("dev", asked)):
            rows = [q for q in read(data / domain / f"questions.{split}.jsonl.gz") if q.get("positive_ids")]
            for q in sorted(rows, key=lambda q: order(q["id"]))[:count]:
                answers = [i for i in q["positive_ids"] if i in known][:3]
                if answers:
                    questions.append({"text": q["question"], "answers": [(domain, i) for i in answers],
                                      "domain": domain, "split": split})
                    named += answers
        rest = sorted(known.keys() - set(named), key=order)[:others]
        for i in dict.fromkeys(named + rest):
            places[domain, i] = len(passages)
            passages.append(". ".join(x for x in (known[i].get("title"), known[i]["text"]) if x))
    for q in questions:
        q["answers"] = {places[a] for a in q["answers"]}
    return passages, questions


def encode(server, model, texts):
    """Unit vectors [N,D]; a text that is too long for the expert is shortened."""
    out = []
    for at in range(0, len(texts), 32):
        part = list(texts[at : at + 32])
        while True:
            asked = urllib.request.Request(server + "/v1/embeddings", json.dumps({"model": model, "input": part}).encode(),
                                           {"Content-Type": "application/json"})
            try:
                with urllib.request.urlopen(asked, timeout=600) as answer:
                    out += [x["embedding"] for x in json.load(answer)["data"]]
                break
            except urllib.error.HTTPError as e:
                if not (long := re.search(rb"Text (\d+) has more", said := e.read())):
                    raise RuntimeError(said.decode()) from e
                words = part[int(long[1])].split()
                part[int(long[1])] = " ".join(words[: int(0.85 * len(words))])
    x = np.array(out, np.float32)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def vectors(folder, server, passages, questions):
    """The vectors of questions and passages by the base and by each expert."""
    folder.mkdir(parents=True, exist_ok=True)
    out = {}
    for name in ["base", *DOMAINS]:
        path = folder / f"{name}.npz"
        if not path.exists():
            np.savez(path, questions=encode(server, name + ":question", [q["text"] for q in questions]),
                     passages=encode(server, name, passages))
        out[name] = dict(np.load(path))
    return out


def train(v, answers, asked, members=10, hidden=32, epochs=4, share=1.0, hard=0, residual=True, learning_rate=1e-3):
    """An ensemble of which each member saw its share of the questions ``asked``, in an order of its own."""
    q, p = torch.from_numpy(v["questions"]), torch.from_numpy(v["passages"])
    ensemble = Members(q.shape[1], members, hidden, 0, residual)
    random = np.random.default_rng(0)
    own = [random.permutation(asked)[: round(share * len(asked))] for _ in range(members)]
    known = np.zeros((len(q), len(p)), bool)  # [question, passage]: answers it
    for i, places in enumerate(answers):
        known[i, list(places)] = True
    wrong = {}
    for i in asked if hard else []:
        wrong[i] = [j for j in np.argsort(-(v["passages"] @ v["questions"][i]))[:30] if j not in answers[i]]
    optimiser = torch.optim.Adam(ensemble.parameters(), lr=learning_rate, eps=1e-8)
    steps = max(1, len(own[0]) // BATCH)
    for step in range(steps * epochs):
        epoch, at = divmod(step, steps)
        draw = np.random.default_rng([epoch, at])
        rows = np.stack([np.random.default_rng([epoch, k]).permutation(x)[at * BATCH : (at + 1) * BATCH]
                         for k, x in enumerate(own)])
        columns = np.array([[draw.choice(sorted(answers[i])) for i in row]
                            + [draw.choice(wrong[i]) for _ in range(hard) for i in row] for row in rows])
        ignore = known[rows[:, :, None], columns[:, None, :]] & ~np.eye(rows.shape[1], columns.shape[1], dtype=bool)
        for group in optimiser.param_groups:
            group["lr"] = learning_rate * rate(step, steps * epochs, min(100, steps * epochs // 5))
        loss = ensemble_loss(ensemble.separately(q[torch.from_numpy(rows)]), p[torch.from_numpy(columns)],
                             torch.arange(rows.shape[1]).expand(members, -1), torch.from_numpy(ignore), TEMPERATURE)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(ensemble.parameters(), 2.0)
        optimiser.step()
    return ensemble


def certainties(ensemble, v, rows, scores):
    """By two formulas, over the expert's first hundred passages: 1 - MI / ln K, and the members' mean share of its first."""
    with torch.inference_mode():
        found = np.argsort(-scores, axis=1)[:, :HITS]
        own = ensemble(torch.from_numpy(v["questions"][rows]))
        s = torch.einsum("bkd,bld->bkl", own, torch.from_numpy(v["passages"][found]))
        first = torch.softmax(s / TEMPERATURE, 2).mean(1)[:, 0]
    return {"1 - MI / ln K": confidence(s.numpy(), 0.01), "share of its first passage": first.numpy()}


class Asked:
    """The development questions and how a sum ranks their passages."""

    def __init__(self, questions, passages):
        self.rows = np.array([i for i, q in enumerate(questions) if q["split"] == "dev"])
        self.answers = [questions[i]["answers"] for i in self.rows]
        self.domains = np.array([questions[i]["domain"] for i in self.rows])
        self.grades = np.zeros((len(self.rows), passages), bool)
        for row, answers in enumerate(self.answers):
            self.grades[row, list(answers)] = True

    def measure(self, scores):
        """Top-1, top-20 and nDCG@10 of each question, in percent [Q,3]."""
        hits = np.take_along_axis(self.grades, np.argsort(-scores, axis=1, kind="stable")[:, :20], 1)
        gain = 1 / np.log2(np.arange(2, 12))
        best = np.array([gain[: len(a)].sum() for a in self.answers])
        return 100 * np.stack([hits[:, 0], hits.any(1), (hits[:, :10] * gain).sum(1) / best], 1)


def write_row(name, found, oracle=None):
    cells = [f"{x:.1f}" for x in found.mean(0)]
    if oracle is not None:
        random = np.random.default_rng(1)
        for column in (0, 2):
            d = (found - oracle)[:, column]
            flips = [abs((d * random.choice([-1, 1], len(d))).mean()) for _ in range(2000)]
            cells.append(f"{d.mean():+.1f}, {np.mean(np.array(flips) >= abs(d.mean()) - 1e-12):.2f}")
    print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--server", default="http://127.0.0.1:8080")
    parser.add_argument("--vectors", type=Path, required=True, help="folder that keeps them")
    parser.add_argument("--trained", type=int, default=350, help="training questions of a domain")
    parser.add_argument("--asked", type=int, default=150, help="development questions of a domain")
    parser.add_argument("--others", type=int, default=100, help="passages of a domain that answer none of these")
    parser.add_argument("--variants", nargs="*", default=list(VARIANTS))
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    passages, questions = gather(options.data, options.trained, options.asked, options.others)
    v = vectors(options.vectors, options.server, passages, questions)
    asked = Asked(questions, len(passages))
    answers = [q["answers"] for q in questions]
    domain = np.array([q["domain"] for q in questions])
    training = np.array([i for i, q in enumerate(questions) if q["split"] == "train"])
    scores = {e: v[e]["questions"][asked.rows] @ v[e]["passages"].T for e in v}
    weighed = lambda w: asked.measure(sum(w[:, [k]] * scores[e] for k, e in enumerate(DOMAINS)))  # noqa: E731
    oracle = weighed(np.array([[float(d == e) for e in DOMAINS] for d in asked.domains]))
    known = [v["base"]["questions"][asked.rows] @ v["base"]["questions"][training[domain[training] == e]].T for e in DOMAINS]
    familiar = np.stack([np.sort(x, 1)[:, -10:].mean(1) for x in known], 1)
    shares = torch.softmax(torch.from_numpy(familiar) / 0.05, 1).numpy()
    print("| method | top-1 | top-20 | nDCG@10 | top-1 to the oracle, p | nDCG@10 to the oracle, p |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for e in v:
        write_row(e + " alone", asked.measure(scores[e]))
    write_row("plain sum", weighed(np.ones_like(shares)), oracle)
    write_row("oracle: the expert of the question's domain", oracle)
    write_row("shares by familiarity", weighed(shares), oracle)
    for name in options.variants:
        variant = dict(VARIANTS[name])
        own = variant.pop("own", False)
        found = {e: certainties(train(v[e], answers, training[domain[training] == e] if own else training, **variant),
                                v[e], asked.rows, scores[e]) for e in DOMAINS}
        for formula in found[DOMAINS[0]]:
            c = np.stack([found[e][formula] for e in DOMAINS], 1)
            right = [asked.measure(scores[e])[:, 0] > 0 for e in DOMAINS]
            told = np.mean([auroc(c[ok, k], c[~ok, k]) for k, ok in enumerate(right)])
            print(f"| **{name}**, {formula}, AUROC {told:.3f} | | | | | |")
            write_row("to the power of 3", weighed(c**3 + 1e-9), oracle)
            write_row("the surest alone", weighed((c == c.max(1, keepdims=True)).astype(float)), oracle)
            for power in (1, 3):
                write_row(f"to the power of {power}, times the share by familiarity", weighed(shares * c**power + 1e-12), oracle)


if __name__ == "__main__":
    main()
