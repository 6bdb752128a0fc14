"""A T5 and a retriever that learn together, where everything can be had: on facts that are made here.

    python research/bench/reader/joint_facts.py --work WORK --out FIGURE.svg

Thousands of facts about made-up people are worded in many ways. Each answer, two words, stands in one passage, each of
its words in many; passages of people who share a name, and of the same kind of fact, stand beside it. A small BERT and
a small T5 begin with random weights and a vocabulary of these words. The retriever is warmed up by the inverse cloze
task; the T5 learns to answer from marked passages of people who are not asked about afterwards. Then one loop
(conclave_train.feedback.joint) goes on from these weights in four ways: with the T5's feedback, with the retriever left
as it is, with feedback that was dealt to the passages at random, and with the marked passages. Exact match and top-k of
people never asked about in training are measured by step, and drawn. It needs the package of training/.
"""

import argparse
import copy
import html
import json
import math
import time
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from conclave_train.data.records import Domain, Passage, Question
from conclave_train.feedback.evidence import Evidence
from conclave_train.feedback.joint import Joint, Pair
from conclave_train.feedback.warm import warm_up_retriever
from conclave_train.fid import FidJob, Reading, states, train_fid
from conclave_train.fit.encode import Device, encode_all
from conclave_train.fit.loop import Texts
from conclave_train.fit.state import RunFolder
from conclave_train.job import Job, prepare
from conclave_train.model.bert import BertConfig
from conclave_train.model.t5 import T5, T5Config, read_t5
from conclave_train.model.tensors import write_tensors
from conclave_train.model.tower import Head, Tower
from conclave_train.reading.squad import exact_match
from conclave_train.retrieval.accuracy import accuracy, first_ranks, search
from conclave_train.settings import EndToEndSettings, ExpertSettings, FidSettings

SYLLABLES = ["ba", "ko", "ri", "ten", "mal", "su", "vo", "lin", "dra", "pe", "fa", "gor"]
KINDS = {  # of facts: wordings in passages, wordings of questions
    "trade": (
        ["{n} earns a living as {v} .", "by trade {n} is {v} .", "for years the work of {n} has been that of {v} ."],
        ["what is the job of {n} ?", "which occupation does {n} have ?", "what does {n} do all day ?"],
    ),
    "town": (
        ["{n} was born in {v} .", "the cradle of {n} stood in {v} .", "{v} is where {n} came into the world ."],
        ["what is the birthplace of {n} ?", "from which place does {n} come ?", "where is {n} from ?"],
    ),
    "beast": (
        ["{n} never leaves home without a {v} .", "a {v} follows {n} everywhere .", "{n} keeps a {v} ."],
        ["which animal does {n} own ?", "what is the pet of {n} ?", "what creature lives with {n} ?"],
    ),
    "tone": (
        ["the house of {n} is painted {v} .", "{n} gave all walls a coat of {v} .", "{v} are the doors of {n} ."],
        ["what colour does {n} like ?", "which hue has the home of {n} ?", "in which shade lives {n} ?"],
    ),
}
FILLER = [
    "people tell stories of {n} in winter .",
    "{n} is known in the valley .",
    "few have met {n} since the flood .",
]
WAYS = {"emdr2": "the T5's feedback", "marked": "marked passages", "frozen": "retriever as it was",
        "random": "feedback at random"}  # fmt: skip
COLOURS = {"emdr2": "#0b6e4f", "marked": "#3b5ba9", "frozen": "#888888", "random": "#c2571a"}


def facts(people, seed):
    """``(passages, questions)``: a passage for each person and kind of fact, and a question to each."""
    random = np.random.default_rng(seed)
    names = [a + b for a in SYLLABLES for b in SYLLABLES][:80]
    pairs = random.permutation([(a, b) for a in range(40) for b in range(40, 80)])[:people]
    words = {kind: [f"{kind[:3]}{a}{b}" for a in SYLLABLES for b in SYLLABLES[:4]] for kind in KINDS}
    values = {kind: random.permutation([f"{a} {b}" for a in own for b in own if a != b]) for kind, own in words.items()}
    passages, questions = [], []
    for i, (a, b) in enumerate(pairs):
        name = f"{names[a]} {names[b]}"
        for kind, (said, asked) in KINDS.items():
            value = str(values[kind][i])
            parts = [said[int(random.integers(len(said)))].format(n=name, v=value)]
            parts.insert(int(random.integers(2)), FILLER[int(random.integers(len(FILLER)))].format(n=name))
            id = f"{i}-{kind}"
            passages.append(Passage(id, "", " ".join(parts)))
            text = asked[int(random.integers(len(asked)))].format(n=name)
            questions.append(Question(id, text, (id,), (value,)))
    return passages, questions


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
    """A T5 of random weights whose tokens are ``words``."""
    vocabulary = {w: i for i, w in enumerate(["<pad>", "</s>", "<unk>", *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    folder.mkdir(parents=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "model_type": "t5", "vocab_size": len(vocabulary), "d_model": width, "d_kv": width // 4, "d_ff": 4 * width,
        "num_layers": layers, "num_decoder_layers": layers, "num_heads": 4, "decoder_start_token_id": 0,
        "feed_forward_proj": "relu", "relative_attention_num_buckets": 16,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    torch.manual_seed(seed)
    model = T5(T5Config.read(folder / "config.json"), False, 0.0)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if name == "shared.weight":
                p.normal_(std=1.0)
            elif p.dim() > 1:
                p.normal_(std=p.shape[1] ** -0.5 * (0.5 if name.endswith("q.weight") else 1.0))
    write_tensors(folder / "model.safetensors", model.state_dict(), {"format": "pt"})
    return sum(p.numel() for p in model.parameters())


class Way(Joint):
    """The loop with another feedback."""

    way = "emdr2"

    def feedback(self, rows, places, said):
        teacher, keep = super().feedback(rows, places, said)
        if self.way == "random":
            order = np.random.default_rng([self.s.seed, 8, self.state.step, *rows]).permuted(
                np.tile(np.arange(places.shape[1]), (len(rows), 1)), axis=1
            )
            teacher = teacher.gather(1, torch.from_numpy(order)[..., None].expand_as(teacher))
        if self.way == "marked":
            domain = self.reading.domain
            own = [[domain.passages[int(p)].id in self.reading.questions[i].positives for p in row]
                   for i, row in zip(rows, places, strict=True)]  # fmt: skip
            # As far below the others as makes no difference; where it was not found, all alike.
            teacher = torch.tensor(own).float()[..., None] * 30.0 - 30.0
        return teacher, keep


def picture(runs, told):
    """An SVG of two charts, exact match and top-1, a line for each way."""
    width, height, gap = 760, 330, 60
    each = (width - 3 * gap) / 2
    most = max(row["step"] for rows in runs.values() for row in rows) or 1
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif"'
        ' font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for n, (figure, title) in enumerate((("em", "exact match, %"), ("top-1", "first passage right, %"))):
        left, top, bottom = gap + n * (each + gap), 40, height - 84
        out.append(f'<text x="{left:.0f}" y="24" font-size="14">{title}</text>')
        for share in range(0, 101, 25):
            y = bottom - share / 100 * (bottom - top)
            out.append(f'<line x1="{left:.0f}" y1="{y:.1f}" x2="{left + each:.0f}" y2="{y:.1f}" stroke="#ddd"/>')
            out.append(f'<text x="{left - 6:.0f}" y="{y + 4:.1f}" text-anchor="end">{share}</text>')
        for share in range(5):
            x = left + each * share / 4
            out.append(f'<text x="{x:.0f}" y="{bottom + 16}" text-anchor="middle">{most * share / 4:.0f}</text>')
        out.append(f'<text x="{left + each / 2:.0f}" y="{bottom + 32}" text-anchor="middle">steps</text>')
        for way, rows in runs.items():
            points = " ".join(
                f"{left + each * r['step'] / most:.1f},{bottom - r[figure] / 100 * (bottom - top):.1f}" for r in rows
            )
            out.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[way]}" stroke-width="2"/>')
    for n, way in enumerate(runs):
        x = gap + n * (width - gap) / 4
        out.append(f'<rect x="{x:.0f}" y="{height - 36}" width="14" height="4" fill="{COLOURS[way]}"/>')
        out.append(f'<text x="{x + 20:.0f}" y="{height - 30}">{html.escape(WAYS[way])}</text>')
    out.append(f'<text x="{gap}" y="{height - 8}" fill="#555">{html.escape(told)}</text></svg>')
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="a new folder for models and runs")
    parser.add_argument("--out", type=Path, help="the picture")
    parser.add_argument("--people", type=int, default=1200)
    parser.add_argument("--readers", type=int, default=500, help="people of whom the T5 learns to read, marked")
    parser.add_argument("--asked", type=int, default=500, help="people of whom the loop is asked")
    parser.add_argument("--tested", type=int, default=60, help="people of whom is asked to measure")
    parser.add_argument("--width", type=int, default=192, help="of the T5")
    parser.add_argument("--layers", type=int, default=3, help="of its encoder, and of its decoder")
    parser.add_argument("--reading-epochs", type=int, default=12)
    parser.add_argument("--reading-passages", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--hits", type=int, default=6)
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--threads", type=int, default=1)
    o = parser.parse_args()
    torch.set_num_threads(o.threads)
    device, began = Device(), time.monotonic()
    passages, questions = facts(o.people, 7)
    kinds = len(KINDS)
    cut = [o.readers * kinds, (o.readers + o.asked) * kinds, (o.readers + o.asked + o.tested) * kinds]
    reading, asked, tested = questions[: cut[0]], questions[cut[0] : cut[1]], questions[cut[1] : cut[2]]
    every = " ".join([p.text for p in passages] + [q.text for q in questions])
    words = sorted({*every.split(), "question", "title", "context", ":"})
    make_base(o.work / "base", words, 96, 2, 1)
    numbers = make_t5(o.work / "t5", words, o.width, o.layers, 2)
    print(f"{len(passages):,} passages, {len(words):,} words, a T5 of {numbers / 1e6:.1f} million numbers", flush=True)
    whole = Domain("facts", passages, questions)
    fid = FidSettings(
        epochs=o.reading_epochs, batch=16, passages_per_question=o.reading_passages, learning_rate=1e-3, dropout=0.0,
        tokens=48, answer_tokens=4, hold_out=0.0, depth=8,
    )  # fmt: skip
    own = {q.id for q in reading}
    read_of = Domain("reading", [p for p in passages if p.id in own], reading)
    train_fid(FidJob("reader", (read_of,), o.work / "t5", o.work / "reader", o.work / "r-reader", settings=fid))
    s = EndToEndSettings(
        way="feedback", hits=o.hits, epochs=o.epochs, batch=16, learning_rate=1e-3, reader_rate=2e-4, temperature=0.05,
        warm_up_epochs=6, question_tokens=32, passage_tokens=48, tokens=48, answer_tokens=4, hold_out=0.0, chunk=16,
    )  # fmt: skip
    job = Job("facts", (whole,), o.work / "base", o.work / "x", o.work / "r-ict",
              settings=ExpertSettings(towers="two", temperature=0.05, hold_out=0.0))  # fmt: skip
    prepared = prepare(job)
    model = prepared.checkpoint.model()  # one encoder for both sides while it is warmed up
    both = EndToEndSettings(**{**vars(s), "both_sides": True})
    warm_up_retriever(model, "ict", prepared, both, device, RunFolder(o.work / "r-warm", {}), lambda: False, True)
    start = Pair(model.untied(), read_t5(o.work / "reader"))
    tokens = prepared.checkpoint.tokens
    texts = Texts(tokens.questions([q.text for q in asked], 32), [], tokens)
    rows = tokens.questions([q.text for q in tested], 32)
    vectors = encode_all(start.retriever.passage, tokens.passages(passages, "text", 48), tokens, device)
    tokenizer = Tokenizer.from_file(str(o.work / "reader" / "tokenizer.json"))
    training, measuring = (Reading(q, whole, [], tokenizer, fid) for q in (asked, tested))
    places = [[whole.index[p] for p in q.positives] for q in tested]
    runs = {}
    for way in o.ways.split(","):
        pair = copy.deepcopy(start)
        curve = runs[way] = []

        per_epoch = -(-len(asked) // s.batch)

        def score(vectors, pair=pair, curve=curve, way=way, per_epoch=per_epoch):
            q = encode_all(pair.retriever.question, rows, tokens, device)
            found = accuracy(first_ranks(q, vectors, places), (1, 5, 20))
            hits, right = search(q, vectors, s.hits)[0], 0.0
            with torch.inference_mode():
                for question, row in zip(tested, hits, strict=True):
                    read = states(pair.reader, [measuring.input(question, int(p)) for p in row], device)
                    right += exact_match(tokenizer.decode(pair.reader.answer(read, 1, 4)), question.answers)
            curve.append({"step": per_epoch * len(curve), "em": 100 * right / len(tested), **found})
            print(way, json.dumps(curve[-1]), f"{time.monotonic() - began:.0f} s", flush=True)
            return {"score": curve[-1]["em"]}

        changed = {"learning_rate": 1e-12} if way == "frozen" else {}
        folder = RunFolder(o.work / f"r-{way}", {})
        evidence = Evidence(lambda *_: vectors, pair.retriever.passage, 0, 100, folder)
        loop = Way(pair, texts, training, evidence, EndToEndSettings(**{**vars(s), **changed}), 0.05, device, folder,
                   score, quiet=True)  # fmt: skip
        loop.way = way
        loop.fit()
        (o.work / "curves.json").write_text(json.dumps(runs, indent=1))
    print("| way | exact match | top-1 | top-5 | top-20 |\n| --- | ---: | ---: | ---: | ---: |")
    for way, curve in runs.items():
        for name, row in ((f"{WAYS[way]}: before", curve[0]), (f"{WAYS[way]}: after", curve[-1])):
            print(f"| {name} | " + " | ".join(f"{row[f]:.1f}" for f in ("em", "top-1", "top-5", "top-20")) + " |")
    if o.out:
        told = (
            f"{len(tested):,} questions of people not asked about in training; {len(passages):,} passages, K = {o.hits}"
        )
        o.out.write_text(picture(runs, told))
    assert math.isfinite(vectors.sum())


main()
