"""How fast several `conclave index --share` encode one corpus into one index of OpenSearch, by how many there are.

Starts a cluster of one node on this machine, and fills one index for each number of processes, in turns: each round
asks 1, 2, 4 and 8 of them. Each process has one core, the cores in turns, as machines with one core each would. A second
counts from the start of the processes, which load the encoder, to the end of the last one. The passages a second of one
core divide by the processor time of the processes, so that other work on the machine shows less; what the cluster uses
is not in them.

    python research/bench/shares.py --program bin/conclave --passages FILE.jsonl[.gz] [--most 3000] [--rounds 3]
"""

import argparse
import contextlib
import gzip
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]


@contextlib.contextmanager
def cluster(folder):
    """Runs a cluster of one node, and gives the address of its store up to the name of the index."""
    program = folder / "cluster"
    subprocess.run(["go", "build", "-o", program, "./internal/testing/cluster/cmd"], cwd=ROOT, check=True)
    with open(folder / "cluster.log", "w") as log:
        process = subprocess.Popen([program, "-nodes", "1", "-index", "shares"], stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        address = process.stdout.readline().strip()
        if not address:
            sys.exit((folder / "cluster.log").read_text())
        yield address
    finally:
        process.terminate()
        process.wait()


def index(program, passages, store, processes, folder):
    """Fills an index by so many processes, and returns the seconds of the clock and of their processors."""

    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    cores = sorted(os.sched_getaffinity(0))
    began, busy = time.perf_counter(), used()
    running = []
    for share in range(1, processes + 1):
        log = folder / f"{processes}-{share}.log"
        command = [program, "index", "--store", store, "--in", passages, "--experts", "base", "--share", f"{share}/{processes}"]
        with open(log, "w") as to:
            core = cores[share % len(cores)]
            started = subprocess.Popen(command, stdout=to, stderr=to, preexec_fn=lambda: os.sched_setaffinity(0, {core}))
            running.append((log, started))
    for log, process in running:
        if process.wait():
            sys.exit(f"{log.name}:\n{log.read_text()}")
    return {"seconds": time.perf_counter() - began, "busy": used() - busy}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default="bin/conclave")
    parser.add_argument("--passages", required=True)
    parser.add_argument("--most", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--json")
    args = parser.parse_args()
    measured = {n: [] for n in args.processes}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        opened = gzip.open(args.passages, "rt") if args.passages.endswith(".gz") else open(args.passages)
        with opened as lines:
            some = [line for line, _ in zip(lines, range(args.most))]
        passages = folder / "passages.jsonl"
        passages.write_text("".join(some))
        with cluster(folder) as store:
            for round_ in range(args.rounds):
                for n in args.processes:
                    measured[n].append(index(args.program, passages, f"{store}-{round_}-{n}", n, folder))
    result = {"passages": len(some), "rounds": args.rounds, "cores": os.cpu_count()}
    for n, rounds in measured.items():
        result[n] = {
            "rate": statistics.median(len(some) / m["seconds"] for m in rounds),
            "rate_per_core": statistics.median(len(some) / m["busy"] for m in rounds),
            # Beside the first of args.processes, of the same round.
            "ratio": statistics.median(first["seconds"] / m["seconds"] for first, m in zip(measured[args.processes[0]], rounds)),
        }
        print(f"{n}: {result[n]['rate']:.0f} passages/s, {result[n]['ratio']:.2f} of {args.processes[0]}, {result[n]['rate_per_core']:.0f} a second of one core")
    if args.json:
        Path(args.json).write_text(json.dumps(result))


if __name__ == "__main__":
    main()
