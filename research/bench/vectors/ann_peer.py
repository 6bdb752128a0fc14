"""Measures conclave's hnsw beside hnswlib, faiss and ScaNN, on the same vectors.

    pip install numpy hnswlib faiss-cpu scann
    python3 research/bench/vectors/ann_peer.py --vectors passages.f16 --queries questions.f16 \
        --truth truth100.i32 --dim 384 --ours "bin/conclave-lab bench ann"

Every index is built once with the same number of threads, each in a process of
its own (peer_index.py). Then all take turns, round by round, so that what else
the machine does meets all alike: one thread, one query at a time, top 100. The
tables show the median round. To compare at equal recall, speed is interpolated
between the measured points on a logarithmic scale; --json writes these speeds
too, as "at_recall".
"""

import argparse
import json
import math
import os
import shlex
import statistics
import subprocess
import sys
import tempfile

import numpy as np

from peer_index import K, read

EQUAL = (("recall100", 0.968), ("recall100", 0.99), ("recall10", 0.99))  # what indexes are compared at
PEERS = ("hnswlib", "faiss", "scann")
BUILT = ("build_s", "bytes_per_vector", "disk_bytes_per_vector", "peak_resident_bytes")


class Peer:
    """The process of another index: see peer_index.py."""

    def __init__(self, name, options):
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peer_index.py")
        self.process = subprocess.Popen(
            [sys.executable, program, name, options.vectors, options.queries, options.truth, str(options.dim), str(options.threads)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.built = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the peer ended with exit code {self.process.wait()}")
        return json.loads(line)

    def ask(self, wish):
        print(wish, file=self.process.stdin, flush=True)
        return self.answer()

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def ours(options, folder, extra=()):
    command = shlex.split(options.ours) + [
        "--vectors", options.vectors, "--queries", options.queries, "--truth", options.truth,
        "--dim", str(options.dim), "--threads", str(options.threads), "--folder", folder,
        "--passes", "1", "--json", *extra]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def median(rounds):
    """The points of several rounds, each with the median of its speeds."""
    return [dict(points[0], qps=statistics.median(p["qps"] for p in points)) for points in zip(*rounds)]


def at_recall(points, name, recall):
    """Queries a second at a recall, or None where no point reaches it."""
    below = None
    for p in sorted(points, key=lambda p: p["ef"]):
        if p[name] >= recall:
            if below is None or p[name] == below[name]:
                return p["qps"]
            share = (recall - below[name]) / (p[name] - below[name])
            return math.exp(math.log(below["qps"]) * (1 - share) + math.log(p["qps"]) * share)
        below = p
    return None


def true_neighbours(rows, queries):
    out = []
    for first in range(0, len(queries), 32):
        for scores in queries[first : first + 32] @ rows.T:
            near = np.argpartition(-scores, K)[:K]
            out.append(near[np.argsort(-scores[near])])
    return np.array(out, dtype="<i4")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", required=True)
    parser.add_argument("--queries", required=True)
    parser.add_argument("--truth", help="computed, and kept beside the index, where not given")
    parser.add_argument("--dim", type=int, required=True)
    parser.add_argument("--ours", default="bin/conclave-lab bench ann")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peers", default="hnswlib,faiss")
    parser.add_argument("--folder", help="where the index is kept; a temporary one if not given")
    parser.add_argument("--json", help="file to write the figures to")
    options = parser.parse_args()

    folder = options.folder or tempfile.mkdtemp(prefix="ann-peer-")
    if options.truth is None:
        options.truth = os.path.join(folder, "truth100.i32")
        if not os.path.exists(options.truth):
            true_neighbours(read(options.vectors, options.dim), read(options.queries, options.dim)).tofile(options.truth)

    figures, peers, rounds = {}, {}, {}
    for name in PEERS:
        if name not in options.peers.split(","):
            continue
        peer = Peer(name, options)
        if "missing" in peer.built:
            print(f"{name} is left out: {peer.built['missing']}; pip install numpy hnswlib faiss-cpu scann", file=sys.stderr)
            peer.end()
            continue
        peers[name], rounds[name], figures[name] = peer, [], peer.built
    built = ours(options, folder)
    figures["conclave"] = {k: built[k] for k in BUILT} | {"name": "conclave hnsw"}
    rounds["conclave"] = []
    for _ in range(options.rounds):
        for name, peer in peers.items():
            rounds[name].append(peer.ask("measure"))
        rounds["conclave"].append(ours(options, folder)["points"])
    for name, peer in peers.items():
        figures[name] |= peer.ask("save")
        peer.end()
    for name in rounds:
        points = median(rounds[name])
        speeds = [{"measure": measure, "recall": recall, "qps": at_recall(points, measure, recall)} for measure, recall in EQUAL]
        figures[name] |= {"points": points, "at_recall": speeds}
    if options.json:
        with open(options.json, "w") as f:
            json.dump(figures, f)
    table(figures, options)


def table(figures, options):
    print(f"{options.vectors}: dimension {options.dim}, built with {options.threads} threads, searched by one, top {K}\n")
    print("| index | build s | bytes a vector | on disk | peak resident MB |\n| --- | --- | --- | --- | --- |")
    for f in figures.values():
        print(f"| {f['name']} | {f['build_s']:.1f} | {f['bytes_per_vector']:.0f} | {f['disk_bytes_per_vector']:.0f} | {f['peak_resident_bytes'] / 1e6:.0f} |")
    print("\n| index | ef | queries/s | recall@10 | recall@100 |\n| --- | --- | --- | --- | --- |")
    for f in figures.values():
        for p in f["points"]:
            print(f"| {f['name']} | {p['ef']} | {p['qps']:.0f} | {p['recall10']:.4f} | {p['recall100']:.4f} |")
    print("\n| at equal recall | " + " | ".join(f"over {f}" for f in figures if f != "conclave") + " |")
    print("| --- |" + " --- |" * (len(figures) - 1))
    for i, mine in enumerate(figures["conclave"]["at_recall"]):
        speeds = [f["at_recall"][i]["qps"] for name, f in figures.items() if name != "conclave"]
        cells = [f"{mine['qps'] / qps:.2f} ×" if mine["qps"] and qps else "not reached" for qps in speeds]
        print(f"| {mine['measure'].replace('recall', 'recall@')} ≥ {mine['recall']} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
