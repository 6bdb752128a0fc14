"""Filtered nearest neighbours beside peers, of the same vectors under the same conditions, in one run: recall at 10
against exact search, and queries a second of one thread. docs/evidence/conditions.md has the commands.

Each vector has numbers, as passages have fields: one at random ("random"), its rank by nearness to another vector
("cluster"), and for some queries each its rank by nearness to the query ("near" and "far" are both ends of it). A
condition is a range of such a number that a share of the vectors is in. Engines take turns, query by query.

Peers: hnswlib with a filter function, faiss (HNSW with a bitmap), OpenSearch's k-NN plugin by Lucene with the condition
inside the query, and Qdrant's local mode, which is its Python package alone and compares all, with numpy. What is not
there is left out, and what does not finish in its time is named."""

import argparse
import json
import os
import select
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import numpy as np

SHARES = [0.5, 0.05, 0.005, 0.0005]
KINDS = ["random", "cluster", "near", "far"]
K, EF, M, CONSTRUCTION = 10, 300, 16, 200
CHUNK = 2000


class TimeUp(Exception):
    pass


class Data:
    """The vectors, the queries, and the numbers of each vector, a column each."""

    def __init__(self, options):
        self.options = options
        read = lambda name: np.fromfile(name, np.float16).reshape(-1, options.dim)  # noqa: E731
        self.vectors = read(options.vectors)[: options.rows or None].astype(np.float32)
        queries = read(options.queries).astype(np.float32)
        rng = np.random.default_rng(options.seed)
        self.queries = queries[rng.permutation(len(queries))[: options.count]]
        self.own = min(options.own, len(self.queries))
        n = len(self.vectors)
        self.columns = np.empty((2 + self.own, n), np.int32)
        self.columns[0] = rng.permutation(n)
        for column, by in enumerate([self.vectors[rng.integers(n)], *self.queries[: self.own]], 1):
            self.columns[column, np.argsort(-(self.vectors @ by), kind="stable")] = np.arange(n)

    def condition(self, kind, share, query):
        """The column and the range of a condition."""
        n = len(self.vectors)
        size = max(1, int(share * n))
        if kind == "far":
            return 2 + query, n - size, n
        return {"random": 0, "cluster": 1, "near": 2 + query}[kind], 0, size

    def asked(self, kind):
        return self.own if kind in ("near", "far") else len(self.queries)


class Conclave:
    name = "conclave"

    def __init__(self, data, until):
        self.folder = tempfile.TemporaryDirectory(dir=data.options.temporary)
        rows, queries, columns = (os.path.join(self.folder.name, f) for f in ("v.f16", "q.f16", "columns"))
        data.vectors.astype(np.float16).tofile(rows)
        data.queries.astype(np.float16).tofile(queries)
        data.columns.tofile(columns)
        self.process = subprocess.Popen(
            [data.options.lab, "bench", "ann", "--vectors", rows, "--queries", queries, "--dim", str(data.options.dim),
             "--columns", columns, "--ef", str(EF), "--threads", "1", "--folder", self.folder.name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(os.environ, GOMAXPROCS="1"))
        if not select.select([self.process.stdout], [], [], until - time.monotonic())[0]:
            self.process.kill()
            raise TimeUp
        if not self.process.stdout.readline():
            raise RuntimeError(f"conclave-lab ended with exit code {self.process.wait()}")

    def ask(self, query, column, low, high):
        line = {"query": query, "column": column, "low": low, "high": high, "k": K}
        print(json.dumps(line), file=self.process.stdin, flush=True)
        said = json.loads(self.process.stdout.readline())
        return said["rows"] or [], said["seconds"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.folder.cleanup()


class Timed:
    """An engine whose answers are timed here; preparing a condition counts."""

    def ask(self, query, column, low, high):
        start = time.perf_counter()
        rows = self.find(query, column, low, high)
        return rows, time.perf_counter() - start

    def close(self):
        pass


class Hnswlib(Timed):
    name = "hnswlib, filter function"

    def __init__(self, data, until):
        import hnswlib

        self.queries = data.queries
        self.columns = [c.tolist() for c in data.columns]
        self.index = hnswlib.Index(space="ip", dim=data.vectors.shape[1])
        self.index.init_index(len(data.vectors), M=M, ef_construction=CONSTRUCTION)
        for at in range(0, len(data.vectors), CHUNK):
            self.index.add_items(data.vectors[at : at + CHUNK], num_threads=1)
            if time.monotonic() > until:
                raise TimeUp
        self.index.set_ef(EF)
        self.index.set_num_threads(1)

    def find(self, query, column, low, high):
        numbers = self.columns[column]
        try:
            rows, _ = self.index.knn_query(
                self.queries[query], k=min(K, high - low), filter=lambda row: low <= numbers[row] < high)
        except RuntimeError:  # fewer were found than asked for
            return []
        return [int(x) for x in rows[0]]


class Faiss(Timed):
    name = "faiss HNSW, bitmap"

    def __init__(self, data, until):
        import faiss

        faiss.omp_set_num_threads(1)
        self.faiss, self.queries, self.columns = faiss, data.queries, data.columns
        self.index = faiss.IndexHNSWFlat(data.vectors.shape[1], M, faiss.METRIC_INNER_PRODUCT)
        self.index.hnsw.efConstruction = CONSTRUCTION
        for at in range(0, len(data.vectors), CHUNK):
            self.index.add(data.vectors[at : at + CHUNK])
            if time.monotonic() > until:
                raise TimeUp

    def find(self, query, column, low, high):
        numbers = self.columns[column]
        bits = np.packbits((numbers >= low) & (numbers < high), bitorder="little")
        selected = self.faiss.SearchParametersHNSW(sel=self.faiss.IDSelectorBitmap(bits), efSearch=EF)
        _, rows = self.index.search(self.queries[query : query + 1], K, params=selected)
        return [int(x) for x in rows[0] if x >= 0]


class OpenSearch(Timed):
    name = "OpenSearch k-NN (Lucene), filter in the query"

    def __init__(self, data, until):
        if not data.options.opensearch:
            raise ImportError("no address was given")
        self.url = data.options.opensearch.rstrip("/") + f"/filtered-bench-{os.getpid()}"
        self.queries = data.queries
        n = len(data.vectors)
        method = {"name": "hnsw", "engine": "lucene", "space_type": "innerproduct",
                  "parameters": {"m": M, "ef_construction": CONSTRUCTION}}
        fields = {f"c{i}": {"type": "integer"} for i in range(len(data.columns))}
        fields["v"] = {"type": "knn_vector", "dimension": data.vectors.shape[1], "method": method}
        self.send("", {"settings": {"index": {"knn": True, "number_of_shards": 1, "number_of_replicas": 0,
                                              "refresh_interval": "-1"}},
                       "mappings": {"_source": {"enabled": False}, "properties": fields}}, "PUT")
        try:
            for at in range(0, n, CHUNK // 4):
                lines = []
                for row in range(at, min(n, at + CHUNK // 4)):
                    lines.append(f'{{"index":{{"_id":"{row}"}}}}')
                    given = {f"c{i}": int(c[row]) for i, c in enumerate(data.columns)}
                    lines.append(json.dumps(given | {"v": [round(float(x), 6) for x in data.vectors[row]]}))
                if self.send("/_bulk", "\n".join(lines) + "\n")["errors"]:
                    raise RuntimeError("a vector was not taken")
                if time.monotonic() > until:
                    raise TimeUp
            self.send("/_forcemerge?max_num_segments=1", "", "POST", until - time.monotonic())
            self.send("/_refresh", "", "POST")
        except (TimeoutError, TimeUp) as e:
            self.close()
            raise TimeUp from e

    def send(self, path, body, method="POST", timeout=600):
        text = body if isinstance(body, str) else json.dumps(body)
        asked = urllib.request.Request(self.url + path, text.encode() or None, method=method,
                                       headers={"Content-Type": "application/json"})
        for wait in (1, 4, 16, 60, 0):
            try:
                with urllib.request.urlopen(asked, timeout=max(timeout, 1)) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as e:
                if e.code != 429 or not wait:
                    raise RuntimeError(f"{e.code}: {e.read(500).decode(errors='replace')}") from e
                time.sleep(wait)

    def find(self, query, column, low, high):
        only = {"range": {f"c{column}": {"gte": low, "lt": high}}}
        near = {"vector": self.queries[query].tolist(), "k": EF, "filter": only}
        hits = self.send("/_search", {"size": K, "_source": False, "query": {"knn": {"v": near}}})["hits"]["hits"]
        return [int(h["_id"]) for h in hits]

    def close(self):
        self.send("", "", "DELETE")


class Qdrant(Timed):
    name = "Qdrant, Python's local mode"

    def __init__(self, data, until):
        from qdrant_client import QdrantClient, models

        self.models, self.queries = models, data.queries
        self.client = QdrantClient(":memory:")
        space = models.VectorParams(size=data.vectors.shape[1], distance=models.Distance.DOT)
        self.client.create_collection("c", vectors_config=space)
        for at in range(0, len(data.vectors), CHUNK):
            rows = range(at, min(len(data.vectors), at + CHUNK))
            self.client.upsert("c", models.Batch(
                ids=list(rows), vectors=data.vectors[at : at + CHUNK].tolist(),
                payloads=[{f"c{i}": int(c[row]) for i, c in enumerate(data.columns)} for row in rows]))
            if time.monotonic() > until:
                raise TimeUp

    def find(self, query, column, low, high):
        only = self.models.FieldCondition(key=f"c{column}", range=self.models.Range(gte=low, lt=high))
        found = self.client.query_points("c", query=self.queries[query], limit=K,
                                         query_filter=self.models.Filter(must=[only]))
        return [p.id for p in found.points]


def built(data):
    """The engines that are there, each built within its time."""
    engines, absent = [], []
    for kind in (Conclave, Hnswlib, Faiss, OpenSearch, Qdrant):
        if data.options.only and kind.__name__.lower() not in data.options.only:
            continue
        start = time.monotonic()
        try:
            engines.append(kind(data, start + 60 * data.options.minutes))
            print(f"{kind.name}: built in {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
        except ImportError as e:
            absent.append(f"{kind.name} is not here: {e}")
        except TimeUp:
            absent.append(f"{kind.name} was not built within {data.options.minutes:g} minutes")
        except RuntimeError as e:
            absent.append(f"{kind.name} could not be built: {e}")
    return engines, absent


def compared(data, engines, kind, share):
    """A row of each engine: recall at 10, queries a second, and of how many queries."""
    asked = {e.name: [0, 0, 0.0, 0] for e in engines}  # found, wanted, seconds, queries
    for query in range(data.asked(kind)):
        column, low, high = data.condition(kind, share, query)
        inside = (data.columns[column] >= low) & (data.columns[column] < high)
        scores = data.vectors[inside] @ data.queries[query]
        most = min(K, len(scores))
        least = np.partition(scores, len(scores) - most)[len(scores) - most] - 1e-5
        for engine in engines:
            row = asked[engine.name]
            if row[2] > data.options.patience and row[3] >= 3:
                continue
            rows, seconds = engine.ask(query, column, low, high)
            rows = [r for r in dict.fromkeys(rows) if inside[r]][:most]
            row[0] += sum(float(data.vectors[r] @ data.queries[query]) >= least for r in rows)
            row[1] += most
            row[2] += seconds
            row[3] += 1
    return {name: {"recall10": found / wanted, "qps": n / seconds, "queries": n}
            for name, (found, wanted, seconds, n) in asked.items()}


def write(data, rows, absent, names, seconds):
    """Two tables as Markdown: recall, and speed with ratios to the first engine's."""
    print(f"{len(data.vectors):,} vectors of {data.options.dim} numbers, {seconds / 60:.0f} minutes")
    for title in ("recall@10", "queries a second"):
        print(f"\n| {title} | share | " + " | ".join(names) + " |")
        print("| --- | ---: |" + " ---: |" * len(names))
        for (kind, share), row in rows.items():
            cells = []
            for name in names:
                if title == "recall@10":
                    cells.append(f"{row[name]['recall10']:.3f}")
                else:
                    ratio = row[name]["qps"] / row[names[0]]["qps"]
                    cells.append(f"{row[name]['qps']:,.{0 if row[name]['qps'] >= 10 else 1}f}")
                    cells[-1] += "" if name == names[0] else f" ({ratio:.2g})"
            print(f"| {kind} | {100 * share:g} % | " + " | ".join(cells) + " |")
    for why in absent:
        print(f"\n{why}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", required=True)
    parser.add_argument("--queries", required=True)
    parser.add_argument("--dim", type=int, required=True)
    parser.add_argument("--lab", default="bin/conclave-lab", help="the program conclave-lab")
    parser.add_argument("--opensearch", default="", help="address of a node: http://127.0.0.1:PORT")
    parser.add_argument("--rows", type=int, default=0, help="vectors; 0: all")
    parser.add_argument("--count", type=int, default=100, help="queries of random and cluster")
    parser.add_argument("--own", type=int, default=20, help="queries of near and far, which have a column each")
    parser.add_argument("--patience", type=float, default=10, help="seconds of an engine for a row, of 3 queries at least")
    parser.add_argument("--minutes", type=float, default=60, help="for an engine to be built")
    parser.add_argument("--only", nargs="*", help="of: conclave hnswlib faiss opensearch qdrant")
    parser.add_argument("--temporary", help="folder for conclave's index")
    parser.add_argument("--seed", type=int, default=7)
    data = Data(parser.parse_args())
    start = time.monotonic()
    engines, absent = built(data)
    for engine in engines:  # pages are read and code is compiled before anything counts
        for query in range(len(data.queries)):
            engine.ask(query, 0, 0, len(data.vectors))
    rows = {}
    for kind in KINDS:
        for share in SHARES:
            rows[kind, share] = compared(data, engines, kind, share)
            print(kind, share, json.dumps(rows[kind, share]), file=sys.stderr, flush=True)
    for engine in engines:
        engine.close()
    write(data, rows, absent, [e.name for e in engines], time.monotonic() - start)


if __name__ == "__main__":
    main()
