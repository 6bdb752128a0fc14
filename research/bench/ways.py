"""What each way of making vector search fast brings, measured one by one.

    pip install numpy
    python3 research/bench/ways.py --vectors passages.f16 --queries questions.f16 \
        --truth truth100.i32 --dim 384 [--json FILE]

Each way is taken out of a copy of the source by one edit, the copy is built,
and all take turns, round by round, at the same efSearch. A ratio says how many
times as fast the program as it is answers, at equal recall: speeds between the
points measured are interpolated, as in research/bench/vectors/ann_peer.py.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "research" / "bench" / "vectors"))
from ann_peer import at_recall, median  # noqa: E402 (found by the line above)

EF = "100,150,200,300"
RECALL = ("recall100", 0.98)

# Each has a name, the way and what it is instead of, a file, a text that is there once, and what it becomes. A test
# compares the texts with the files.
WAYS = json.loads((Path(__file__).parent / "ways.json").read_text())


def copy(to):
    """Copies the source as it is now."""
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    for name in names.decode().split("\0"):
        source = ROOT / name
        if name and source.exists():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            (to / name).write_bytes(source.read_bytes())


def program(folder, name, edit=None):
    """Builds conclave in the copy, with the edit of one way, if any, that is taken back."""
    out = folder / f"conclave-{name}"
    path = text = None
    if edit:
        path = folder / edit["file"]
        text = path.read_text()
        if text.count(edit["before"]) != 1:
            raise SystemExit(f"{edit['file']} does not have {edit['before']!r} once: mend research/bench/ways.json")
        path.write_text(text.replace(edit["before"], edit["after"]))
    try:
        subprocess.run(["go", "build", "-o", out, "./cmd/conclave-lab"], cwd=folder, check=True)
    finally:
        if edit:
            path.write_text(text)
    return out


def told(way):
    """What the edit of a way is, for people."""
    after = f" → `{way['after'].strip()}`" if way["after"] else " left out"
    return f"{way['file']}: `{way['before'].strip()}`{after}"


def run(binary, index, options, threads):
    command = [binary, "bench", "ann", "--vectors", options.vectors, "--queries", options.queries, "--truth", options.truth,
               "--dim", str(options.dim), "--folder", index, "--threads", str(threads), "--ef", EF, "--passes", "1", "--json"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def kernels():
    """Nanoseconds that one inner product of 384 numbers takes, by instruction set."""
    text = subprocess.run(["go", "test", "./ann/kernel", "-run", "^$", "-bench", "^BenchmarkDot$", "-benchtime", "300ms"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    found = {}
    for kind, name, nanoseconds in re.findall(r"^BenchmarkDot/(halves|codes)/(\S+?)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op", text, re.M):
        found.setdefault(name, {"set": name})[kind] = float(nanoseconds) / 4096  # rows of the benchmark
    return list(found.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", required=True)
    parser.add_argument("--queries", required=True)
    parser.add_argument("--truth", required=True)
    parser.add_argument("--dim", type=int, required=True)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", help="file to write the figures to")
    options = parser.parse_args()
    for name in ("vectors", "queries", "truth"):
        setattr(options, name, os.path.abspath(getattr(options, name)))

    with tempfile.TemporaryDirectory(prefix="ways-") as folder:
        folder = Path(folder)
        copy(folder)
        programs = {"": program(folder, "as-it-is")} | {way["name"]: program(folder, way["name"], way) for way in WAYS}
        rounds = {name: [] for name in programs}
        for _ in range(options.rounds):
            for name, binary in programs.items():
                index = folder / f"index-{name}"
                index.mkdir(exist_ok=True)
                rounds[name].append(run(binary, index, options, os.cpu_count())["points"])
        builds = {threads: [] for threads in (1, os.cpu_count())}
        for _ in range(3):
            for threads in builds:
                with tempfile.TemporaryDirectory(dir=folder) as index:
                    builds[threads].append(run(programs[""], index, options, threads)["build_s"])

    speeds = {name: at_recall(median(points), *RECALL) for name, points in rounds.items()}
    if None in speeds.values():
        raise SystemExit(f"{RECALL[0]} {RECALL[1]} is not reached with efSearch {EF}: {speeds}")
    ways = [{"way": way["way"], "instead_of": way["instead_of"], "ratio": speeds[""] / speeds[way["name"]], "edit": told(way)}
            for way in WAYS]
    one, many = (statistics.median(seconds) for seconds in builds.values())
    figures = {"qps": speeds[""], "measure": RECALL[0], "recall": RECALL[1], "ways": ways, "kernels": kernels(),
               "build": {"threads": os.cpu_count(), "build_s": many, "one_thread_build_s": one, "ratio": one / many}}
    print(f"as it is: {speeds['']:.0f} queries/s at {RECALL[0]} {RECALL[1]}")
    for way in ways:
        print(f"{way['ratio']:5.2f} × {way['way']}, instead of {way['instead_of']} ({way['edit']})")
    print(f"{one / many:5.2f} × built with {os.cpu_count()} threads, instead of one ({many:.1f} s, {one:.1f} s)")
    for k in figures["kernels"]:
        print(f"{k['set']}: {k['halves']:.1f} ns for 384 numbers of half precision, {k['codes']:.1f} ns for their codes")
    if options.json:
        Path(options.json).write_text(json.dumps(figures))


if __name__ == "__main__":
    main()
