"""How fast passages are encoded by `conclave index` and by Python's sentence-transformers, with the same model.

Both encode the same passages with the weights of the base encoder, one after the other in each round:

- `conclave index --experts base` as a process of its own, from the first byte read to the index on disk;
- `SentenceTransformer.encode` with its default settings, without loading the model.

Passages a second say how long a user waits. Passages a second of one core divide by the cores that a program kept
busy (processor time / time of the clock), so that a program that leaves cores idle shows.

    pip install -r research/bench/requirements-torch.txt
    python research/bench/indexing.py --program bin/conclave [--passages FILE.jsonl ...] [--most 1500] [--rounds 3]
"""

import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ENCODE = """
import json, sys, time
from sentence_transformers import SentenceTransformer
texts = json.load(open(sys.argv[2]))
model = SentenceTransformer(sys.argv[1], device="cpu")
model.encode(texts[:8])
began, busy = time.perf_counter(), time.process_time()
model.encode(texts, show_progress_bar=False)
print(json.dumps({"seconds": time.perf_counter() - began, "busy": time.process_time() - busy}))
"""


def cache():
    """Returns the folder with the fetched weights."""
    root = os.environ.get("CONCLAVE_CACHE")
    return Path(root) if root else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "conclave"


def read(paths, most):
    """Returns the first passages of each file, as parsed lines."""
    passages = []
    for path in paths:
        opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path)
        with opened as lines:
            passages += [json.loads(line) for line, _ in zip(lines, range(most))]
    return passages


def index(program, passages, folder):
    """Indexes a file of passages, and returns the seconds of the clock and of all processors."""
    began = time.perf_counter()
    with open(folder / "log", "w") as log:
        process = subprocess.Popen([program, "index", "--collection", folder / "index", "--in", passages, "--experts", "base"], stdout=log, stderr=log)
        _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit((folder / "log").read_text())
    return {"seconds": time.perf_counter() - began, "busy": used.ru_utime + used.ru_stime}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default="bin/conclave")
    parser.add_argument("--passages", nargs="+", required=True)
    parser.add_argument("--most", type=int, default=1500, help="of each file")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json")
    args = parser.parse_args()
    passages = read(args.passages, args.most)
    turns = {"conclave": [], "sentence-transformers": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = folder / "passages.jsonl"
        lines.write_text("".join(json.dumps({"id": str(i), "title": p.get("title", ""), "text": p["text"]}) + "\n" for i, p in enumerate(passages)))
        texts = folder / "texts.json"
        texts.write_text(json.dumps([(p.get("title", "") + " " + p["text"]).strip() for p in passages]))
        for round_ in range(args.rounds):
            at = folder / str(round_)
            at.mkdir()
            turns["conclave"].append(index(args.program, lines, at))
            out = subprocess.run([sys.executable, "-c", ENCODE, cache() / "checkpoints" / "all-minilm-l6-v2", texts], capture_output=True, text=True)
            if out.returncode:
                sys.exit(out.stderr)
            turns["sentence-transformers"].append(json.loads(out.stdout.splitlines()[-1]))
    result = {"passages": len(passages), "rounds": args.rounds, "cores": os.cpu_count()}
    for who, measured in turns.items():
        result[who] = {
            "rate": statistics.median(len(passages) / m["seconds"] for m in measured),
            "cores_used": statistics.median(m["busy"] / m["seconds"] for m in measured),
            "rate_per_core": statistics.median(len(passages) / m["busy"] for m in measured),
        }
        print(f"{who}: {result[who]['rate']:.0f} passages/s on {result[who]['cores_used']:.2f} cores, {result[who]['rate_per_core']:.0f} a second of one core")
    for ratio, key in (("ratio", "rate"), ("ratio_per_core", "rate_per_core")):
        result[ratio] = result["conclave"][key] / result["sentence-transformers"][key]
    print(f"ratio {result['ratio']:.2f}, per core {result['ratio_per_core']:.2f}")
    if args.json:
        Path(args.json).write_text(json.dumps(result))


if __name__ == "__main__":
    main()
