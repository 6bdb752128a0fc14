"""Measures a server of many collections: what is resident, and how long a closed one takes to answer.

    python research/bench/collections/measure.py --conclave bin/conclave --in passages.jsonl

Makes one collection of so many passages, and the others of it: their segments are links to its files, which a
process maps, and counts as resident, once for each collection. Prints one line for each figure.
"""

import argparse
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
import urllib.request


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--conclave", default="bin/conclave")
    p.add_argument("--in", dest="passages", required=True, help="passages, as JSON Lines")
    p.add_argument("--made", help="a collection to take in place of indexing --in")
    p.add_argument("--collections", type=int, default=1000)
    p.add_argument("--passages-each", type=int, default=1000)
    p.add_argument("--experts", default="default")
    p.add_argument("--open", type=int, nargs="+", help="collections.open (default: 100, and all)")
    p.add_argument("--open-bytes", default="0", help="collections.open_bytes")
    p.add_argument("--asked", type=int, default=50, help="closed collections that are asked, one after the other")
    a = p.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(dir=os.environ.get("CONCLAVE_BENCH_TMP")))
    try:
        measure(a, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure(a, folder):
    with open(a.passages, encoding="utf-8") as f:
        lines = [line for _, line in zip(range(a.passages_each), f)]
    (folder / "in.jsonl").write_text("".join(lines), encoding="utf-8")
    words = [" ".join(json.loads(x)["text"].split()[:6]) for x in lines[: 4 * a.asked]]
    data = folder / "data"
    first = data / "c0"
    data.mkdir()
    if a.made:
        shutil.copytree(a.made, first)
    else:
        subprocess.run([a.conclave, "index", "--collection", first, "--in", folder / "in.jsonl", "--experts", a.experts],
                       check=True, stdout=subprocess.DEVNULL)
    size = sum(x.stat().st_size for x in first.rglob("*") if x.is_file())
    for i in range(1, a.collections):
        copy_of(first, data / f"c{i}")
    print(f"{a.collections} collections of {len(lines)} passages and {size / 1e6:.1f} MB")
    for at_once in a.open or (100, a.collections):
        serve(a, folder, data, at_once, words)


def copy_of(first, to):
    """Makes another collection with links to the segments of one."""
    for root, _, files in os.walk(first):
        there = to / pathlib.Path(root).relative_to(first)
        there.mkdir(parents=True, exist_ok=True)
        for name in files:
            link = os.link if "seg-" in root else shutil.copy
            link(os.path.join(root, name), there / name)


def serve(a, folder, data, at_once, words):
    config = folder / "conclave.yaml"
    config.write_text(f"collections: {{open: {at_once}, open_bytes: {a.open_bytes}, idle: 24h}}\n")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    base = f"http://127.0.0.1:{port}"
    began = time.perf_counter()
    server = subprocess.Popen([a.conclave, "serve", "--config", config, "--data", data, "--listen", f"127.0.0.1:{port}"],
                              stderr=subprocess.DEVNULL)
    try:
        while True:
            try:
                urllib.request.urlopen(base + "/readyz", timeout=5).read()
                break
            except OSError:
                if server.poll() is not None:
                    raise SystemExit("the server ended")
                time.sleep(0.02)
        print(f"open {at_once}: ready after {time.perf_counter() - began:.2f} s, {resident(server.pid)} resident")
        ask(base, 0, words[0])  # loads the encoders
        firsts, again = [], []
        for i in range(1, a.asked + 1):  # a question that no cache has, each time
            firsts.append(ask(base, i, words[2 * i]))
            again.append(ask(base, i, words[2 * i + 1]))
        one, more = statistics.median(firsts), statistics.median(again)
        print(f"open {at_once}: a closed one answers in {1000 * one:.0f} ms (the slowest {1000 * max(firsts):.0f} ms), "
              f"an open one in {1000 * more:.0f} ms: {one / more:.2f} times")
        for i in range(a.collections):
            ask(base, i, "what is it")
        print(f"open {at_once}: all asked, {resident(server.pid)} resident")
    finally:
        server.terminate()
        server.wait()


def ask(base, i, question):
    body = json.dumps({"question": question, "timeout_ms": 10000}).encode()
    began = time.perf_counter()
    r = urllib.request.Request(f"{base}/v1/collections/c{i}/search", body, {"content-type": "application/json"})
    answer = json.loads(urllib.request.urlopen(r, timeout=60).read())
    took = time.perf_counter() - began
    assert answer["results"], answer
    return took


def resident(pid):
    """Returns the resident memory of a process: all of it, and what is no file's."""
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    kib = {x.split(":")[0]: int(x.split()[1]) for x in lines if x.startswith(("VmRSS", "RssAnon"))}
    return f"{kib['VmRSS'] / 2**20:.2f} GiB ({kib['RssAnon'] / 2**20:.2f} GiB of it not of files)"


main()
