"""The time of a whole answer beside that of one pass of the encoder, over HTTP, with nothing cached.

    python3 research/bench/whole.py --program bin/conclave --documents shipped/demo/documents \
      --questions shipped/demo/questions/documents/dev.jsonl [--json FILE]

The documents are indexed into a temporary folder and served on this machine. Every question is asked once, in one of four ways
in turn, so that no question's vector is at hand: `/embed` alone, a search without reranking, the default search, and one
with the words that answer. Printed are medians, and their ratios to that of `/embed`.
"""

import argparse
import http.client
import json
import socket
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

WAYS = {
    "one pass of the encoder (/embed)": None,
    "a search, not reranked": {"rerank": False},
    "a search": {},
    "a search with the words that answer": {"answer": True},
}
ROUNDS = 4


def ask(server, question, options):
    """Milliseconds that an answer takes."""
    path, body = "/embed", {"inputs": question}
    if options is not None:
        path, body = "/v1/search", {"question": question, "timeout_ms": 10000, **options}
    text = json.dumps(body)
    start = time.monotonic()
    server.request("POST", path, text, {"Content-Type": "application/json"})
    answer = server.getresponse()
    said = answer.read()
    took = 1000 * (time.monotonic() - start)
    if answer.status != 200:
        raise SystemExit(f"{path}: status {answer.status}: {said[:500]!r}")
    return took


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="bin/conclave")
    parser.add_argument("--documents", required=True, type=Path)
    parser.add_argument("--questions", required=True, type=Path)
    parser.add_argument("--json", type=Path)
    o = parser.parse_args()
    questions = [json.loads(line)["question"] for line in o.questions.read_text("utf-8").splitlines()]
    with tempfile.TemporaryDirectory() as folder:
        collection = f"{folder}/collection"
        subprocess.run([o.program, "index", "--collection", collection, "--in", o.documents], check=True, capture_output=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{free.getsockname()[1]}"
        serving = subprocess.Popen(
            [o.program, "serve", "--collection", collection, "--listen", address], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            took = measure(address, questions, serving)
        finally:
            serving.terminate()
            serving.wait()
    first = statistics.median(took[next(iter(WAYS))])
    rows = [
        {"what": way, "questions": len(all), "ms": statistics.median(all), "ratio": statistics.median(all) / first}
        for way, all in took.items()
    ]
    for row in rows:
        print(f"{row['what']}: {row['ms']:.2f} ms, {row['ratio']:.2f} × ({row['questions']} questions)")
    if o.json:
        o.json.write_text(json.dumps(rows))


def measure(address, questions, serving):
    """The times of each way; nothing of the first few counts, which warm the server up."""
    for _ in range(600):
        try:
            server = http.client.HTTPConnection(address)
            server.request("GET", "/readyz")
            answer = server.getresponse()
            answer.read()
            if answer.status == 200:
                break
        except OSError:
            pass
        if serving.poll() is not None:
            raise SystemExit("the server ended")
        time.sleep(0.2)
    took = {way: [] for way in WAYS}
    for i in range(40):
        ask(server, f"{questions[i]} {i}", list(WAYS.values())[i % len(WAYS)])
    for turn in range(ROUNDS):
        for i, question in enumerate(questions):
            way = list(WAYS)[(i + turn) % len(WAYS)]
            text = question if turn == 0 else f"{question} ({'abcdefgh'[turn]})"  # another text, so that nothing is at hand
            took[way].append(ask(server, text, WAYS[way]))
    return took


main()
