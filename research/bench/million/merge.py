"""What searches take while the segments of a large collection are merged, beside what they take afterwards.

    python3 research/bench/million/merge.py --program bin/conclave --collection NEW --questions FILE.jsonl[.gz] ...

NEW is what `go run ./research/bench/million -segments 8` made, of at least 8,001 passages: a server merges eight segments
of a size as soon as it is started. One caller asks one fresh question after the other, which are not reranked, until one
segment is left, and then as many again, at most 1,000. The collection is served from a folder with links to its files.
"""

import argparse
import http.client
import json
import random
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from measure import Server, link_files, percentile, read_questions


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="bin/conclave")
    parser.add_argument("--collection", required=True, type=Path)
    parser.add_argument("--questions", required=True, nargs="+", type=Path)
    o = parser.parse_args()
    questions = read_questions(o.questions)
    random.Random(7).shuffle(questions)
    folder = Path(tempfile.mkdtemp(dir=o.collection.resolve().parent))
    try:
        link_files(o.collection, folder / "data" / "default")
        server = Server(o.program, folder)
        try:
            measure(server, questions)
        finally:
            server.end()
    finally:
        shutil.rmtree(folder)


def measure(server, questions):
    """Prints percentiles and memory while segments are merged and afterwards."""
    connection = http.client.HTTPConnection(server.address)
    began, used, asked, most = time.monotonic(), server.processor(), 0, 0
    times = []
    while segments(server, connection) > 1:
        for _ in range(10):
            times.append(server.ask(connection, questions[asked % len(questions)], {"rerank": False}))
            asked += 1
            time.sleep(0.05)  # a lone caller who never waits would take the processors that merging needs
        most = max(most, server.memory()[0])
    say("while it merges", times, seconds=time.monotonic() - began, processor_s=(server.processor() - used) / 1000,
        anonymous_mib=most)
    times = []
    for _ in range(min(1000, asked)):
        times.append(server.ask(connection, questions[asked % len(questions)], {"rerank": False}))
        asked += 1
        time.sleep(0.05)
    say("afterwards", times, anonymous_mib=server.memory()[0])


def segments(server, connection):
    """Returns how many segments the collection has."""
    return json.loads(server.send(connection, "GET", "/v1/collections/default", None))["backlog"]["segments"]


def say(what, times, **more):
    """Prints the number of times, their median and 99th percentile, and more figures."""
    figures = {"questions": len(times), "p50_ms": statistics.median(times), "p99_ms": percentile(times, 0.99), **more}
    print(f"{what}: " + ", ".join(f"{k} {v:.1f}" if isinstance(v, float) else f"{k} {v}" for k, v in figures.items()), flush=True)


if __name__ == "__main__":
    main()
