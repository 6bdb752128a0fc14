"""How long a search over two collections takes beside a search of one that has the passages of both.

    python3 research/bench/collections/joined.py --conclave bin/conclave --passages PASSAGES.jsonl[.gz]... [--questions N]

Both are asked in turns, with the default experts, over HTTP. The questions are the first sentences of passages. Printed
is one row: the medians and their ratio.
"""

import argparse
import gzip
import json
import os
import pathlib
import socket
import statistics
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

arguments = argparse.ArgumentParser()
arguments.add_argument("--conclave", default="bin/conclave")
arguments.add_argument("--passages", nargs="+", required=True, help="JSON Lines; of all, the first --most are indexed")
arguments.add_argument("--most", type=int, default=3000)
arguments.add_argument("--questions", type=int, default=200)
options = arguments.parse_args()

lines = []
for path in options.passages:
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
        lines += file.readlines()
lines = lines[: options.most]
questions = [json.loads(line)["text"].split(". ")[0][:200] for line in lines[:: max(len(lines) // options.questions, 1)]]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def ask(url, path, body):
    request = urllib.request.Request(url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    began = time.perf_counter()
    urllib.request.urlopen(request).read()
    return (time.perf_counter() - began) * 1000


with tempfile.TemporaryDirectory() as folder:
    parts = {"whole": lines, "half-1": lines[::2], "half-2": lines[1::2]}
    for name, some in parts.items():
        given = pathlib.Path(folder, name + ".jsonl")
        given.write_text("".join(some))
        subprocess.run(
            [options.conclave, "index", "--collection", f"{folder}/data/{name}", "--in", given],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
    url = f"http://127.0.0.1:{free_port()}"
    server = subprocess.Popen(
        [options.conclave, "serve", "--data", f"{folder}/data", "--listen", url.removeprefix("http://")],
        stderr=subprocess.DEVNULL,
        env=os.environ | {"CONCLAVE_ENCODER_CACHE_ENTRIES": "0"},  # else the second of both finds the question encoded
    )
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(url + "/readyz").read()
                break
            except urllib.error.URLError:
                time.sleep(0.1)
        one, two = [], []
        for question in questions:
            body = {"question": question, "k": 10}
            one.append(ask(url, "/v1/collections/whole/search", body))
            two.append(ask(url, "/v1/search", body | {"collections": ["half-1", "half-2"]}))
    finally:
        server.terminate()
        server.wait()
one, two = statistics.median(one[5:]), statistics.median(two[5:])  # the first ones open the collections
print(f"| {len(lines):,} passages in one collection | in two, searched as one | ratio |\n| ---: | ---: | ---: |")
print(f"| {one:.1f} ms | {two:.1f} ms | {two / one:.2f} |")
