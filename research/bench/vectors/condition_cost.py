"""What a condition costs, of vectors that have a number each: the median time of a search without one, of one that is
limited to a range of the numbers, and of finding what is in the range, which is remembered for a generation. Queries take
turns, so that all see the same machine. docs/evidence/conditions.md has the command."""

import argparse
import json
import os
import subprocess
import tempfile

import numpy as np

SHARES = [0.5, 0.05, 0.005, 0.0005]


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--lab", required=True, help="conclave-lab")
    p.add_argument("--vectors", required=True)
    p.add_argument("--queries", required=True)
    p.add_argument("--dim", type=int, required=True)
    p.add_argument("--folder", required=True, help="where the index is kept")
    p.add_argument("--count", type=int, default=200)
    p.add_argument("-k", type=int, default=100)
    o = p.parse_args()
    rows = os.path.getsize(o.vectors) // (2 * o.dim)
    rng = np.random.default_rng(1)
    with tempfile.NamedTemporaryFile() as columns:
        rng.permutation(rows).astype(np.int32).tofile(columns.name)
        command = [o.lab, "bench", "ann", "--vectors", o.vectors, "--queries", o.queries, "--dim", str(o.dim)]
        command += ["--ef", "300", "--threads", "1", "--folder", o.folder, "--columns", columns.name]
        lab = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert json.loads(lab.stdout.readline())["rows"] == rows

        def ask(query, **condition):
            lab.stdin.write(json.dumps({"query": query, "k": o.k, **condition}) + "\n")
            lab.stdin.flush()
            return json.loads(lab.stdout.readline())

        free, first, again, mark = [], {s: [] for s in SHARES}, {s: [] for s in SHARES}, {s: [] for s in SHARES}
        for query in range(-10, o.count):  # the first ten are not counted
            one = ask(max(query, 0), all=True)["seconds"]
            if query >= 0:
                free.append(one)
            for share in SHARES:
                size = max(1, int(share * rows))
                low = int(rng.integers(rows - size + 1))
                found = ask(max(query, 0), column=0, low=low, high=low + size)
                if query < 0:
                    continue
                first[share].append(found["seconds"])
                again[share].append(found["seconds"] - found["mark_s"])
                mark[share].append(found["mark_s"])
        lab.stdin.close()
        lab.wait()
    ms = lambda times: f"{1000 * np.median(times):.3f}"  # noqa: E731
    whole = np.median(free)
    print(f"{rows} vectors of {o.dim} numbers, {o.count} queries, the {o.k} nearest; milliseconds, medians; without a condition {ms(free)}")
    print("\n| share | finding what meets it | of a search without | search, first time | search, again |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for s in SHARES:
        print(f"| {100 * s:g} % | {ms(mark[s])} | {100 * np.median(mark[s]) / whole:.1f} % | {ms(first[s])} | {ms(again[s])} |")


if __name__ == "__main__":
    main()
