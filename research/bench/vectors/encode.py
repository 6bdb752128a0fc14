"""Makes the real vectors that `make bench` searches, of what research/data/build.py built.

    python3 research/bench/vectors/encode.py SHARED bin/conclave [--rows 1000]

SHARED/data is the folder of the domains (build.py --out SHARED/data). Written are, in SHARED/vectors, passages.f16 and
questions.f16, rows of 384 float16 by the base encoder in full precision, of all passages of the eight domains in their order
and of every fifth development question, and truth100.i32, the ordinals of the hundred passages of the greatest inner product
of each question. CONCLAVE_SHARED=SHARED make bench takes them. Needs numpy; 43,378 passages take some 20 minutes of a processor.
--rows is how many passages of each domain, for a trial.
"""

import argparse
import gzip
import io
import json
import os
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np

ADDRESS = "127.0.0.1:18778"
DOMAINS = ("wiki", "amazon", "fairytale", "medquad", "policy", "nq", "covid", "pubmedqa")
EXPERT = "base-fp32"
BATCH = 16


def rows(path: Path) -> list[dict]:
    """The records of a compressed file of JSON Lines."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def passage(row: dict) -> str:
    """What the base encodes of a passage: its title and its text, as the bundle's template joins them."""
    return f"{row['title']}. {row['text']}" if row.get("title") else row["text"]


def encode(texts: list[str], kind: str) -> np.ndarray:
    """Vectors of texts, [texts, 384] float32, of a server that is running."""
    parts = []
    for i in range(0, len(texts), BATCH):
        body = json.dumps({"expert": EXPERT, "input": texts[i : i + BATCH], "kind": kind}).encode()
        headers = {"Content-Type": "application/json", "Accept": "application/x-npy"}
        for _ in range(60):
            try:
                with urllib.request.urlopen(urllib.request.Request(f"http://{ADDRESS}/v1/embed", body, headers)) as answer:
                    parts.append(np.load(io.BytesIO(answer.read())))
                break
            except urllib.error.HTTPError as refused:  # a busy machine
                if refused.code not in (429, 503, 504):
                    raise
                time.sleep(1)
        else:
            raise SystemExit("no answer within a minute: the machine has too much other work")
    return np.concatenate(parts)


def nearest(passages: np.ndarray, questions: np.ndarray, k: int) -> Iterator[np.ndarray]:
    """The ordinals of each question's k passages of the greatest inner product, descending; equal ones by ordinal."""
    for question in questions:
        scores = passages @ question
        yield np.argsort(-scores, kind="stable")[:k]


def serve(program: str, folder: Path) -> subprocess.Popen:
    """A server of one passage with the encoder; it answers when this returns."""
    (folder / "one.jsonl").write_text('{"id": "one", "text": "one"}\n')
    index = [program, "index", "--collection", str(folder / "c"), "--in", str(folder / "one.jsonl"), "--experts", EXPERT]
    subprocess.run(index, check=True, capture_output=True)
    command = [program, "serve", "--collection", str(folder / "c"), "--listen", ADDRESS]
    environment = {**os.environ, "CONCLAVE_AUTH_DISABLED": "true"}
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    while server.poll() is None:
        try:
            urllib.request.urlopen(f"http://{ADDRESS}/readyz").read()
            return server
        except OSError:
            time.sleep(0.3)
    raise SystemExit("the server ended")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path)
    parser.add_argument("program")
    parser.add_argument("--rows", type=int)
    o = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = serve(o.program, Path(folder))
        try:
            passages, questions = [], []
            for domain in DOMAINS:
                files = o.shared / "data" / domain
                passages.append(encode([passage(r) for r in rows(files / "passages.jsonl.gz")[: o.rows]], "passage"))
                asked = rows(files / "questions.dev.jsonl.gz")[::5][: o.rows]
                questions.append(encode([q["question"] for q in asked], "question"))
                print(f"{domain}: {len(passages[-1])} passages, {len(questions[-1])} questions", flush=True)
        finally:
            server.terminate()
            server.wait()
    out = o.shared / "vectors"
    out.mkdir(exist_ok=True)
    halves = [np.concatenate(p).astype(np.float16) for p in (passages, questions)]
    halves[0].tofile(out / "passages.f16")
    halves[1].tofile(out / "questions.f16")
    truth = np.stack(list(nearest(halves[0].astype(np.float32), halves[1].astype(np.float32), 100)))
    truth.astype("<i4").tofile(out / "truth100.i32")


if __name__ == "__main__":
    main()
