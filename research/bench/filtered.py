"""Filtered nearest neighbours beside peers, of the same vectors with the same filters: recall at 10 and
queries a second of one thread. See docs/evidence/conditions.md for the command.

Peers: hnswlib with a filter function, faiss (HNSW with a selector), Qdrant's local mode, which is its Python package
alone: it compares every vector that a filter lets through, with numpy, and has no index. What is not installed is left
out and said so."""

import argparse
import json
import subprocess
import sys
import time

import numpy as np

SHARES = [0.5, 0.05, 0.005, 0.0005]


def allowed_of(kind, vectors, queries, rng):
    """For each share and query the rows that the filter lets through."""
    n = len(vectors)
    if kind == "random":
        order = rng.permutation(n)
        return lambda q, share: order[: max(1, int(share * n))]
    similar = vectors @ queries.T
    near = np.argsort(-similar, axis=0)
    if kind == "far":
        near = near[::-1]
    return lambda q, share: near[: max(1, int(share * n)), q]


def truth(vectors, query, rows):
    scores = vectors[rows] @ query
    return np.sort(scores)[::-1][:10]


def measure(search, vectors, queries, allowed, share, patience):
    found = wanted = 0
    took = []
    until = time.monotonic() + patience
    for q, query in enumerate(queries):
        rows = allowed(q, share)
        best = truth(vectors, query, rows)
        prepared = search.prepare(rows)
        start = time.perf_counter()
        hits = search.find(query, prepared)
        took.append(time.perf_counter() - start)
        inside = set(rows.tolist())
        hits = [h for h in hits if h in inside][: len(best)]
        found += sum(float(vectors[h] @ query) >= best[-1] - 1e-6 for h in hits)
        wanted += len(best)
        if time.monotonic() > until and q >= 4:
            break
    return {"recall10": round(found / wanted, 4), "qps": round(len(took) / sum(took), 1), "queries": len(took)}


class Hnswlib:
    name = "hnswlib 0.8.0, filter function"

    def __init__(self, vectors):
        import hnswlib

        self.index = hnswlib.Index(space="ip", dim=vectors.shape[1])
        self.index.init_index(len(vectors), M=16, ef_construction=200)
        self.index.add_items(vectors, num_threads=1)
        self.index.set_ef(300)
        self.index.set_num_threads(1)

    def prepare(self, rows):
        inside = set(rows.tolist())
        self.most = min(10, len(inside))
        return lambda label: label in inside

    def find(self, query, inside):
        for k in (self.most, 1):
            try:
                labels, _ = self.index.knn_query(query, k=k, filter=inside)
                return [int(x) for x in labels[0]]
            except RuntimeError:  # fewer were found than asked for
                continue
        return []


class Faiss:
    name = "faiss HNSW, selector"

    def __init__(self, vectors):
        import faiss

        faiss.omp_set_num_threads(1)
        self.faiss = faiss
        self.index = faiss.IndexHNSWFlat(vectors.shape[1], 16, faiss.METRIC_INNER_PRODUCT)
        self.index.hnsw.efConstruction = 200
        self.index.add(vectors)
        self.n = len(vectors)

    def prepare(self, rows):
        bits = np.zeros(self.n, bool)
        bits[rows] = True
        self.bits = np.packbits(bits, bitorder="little")
        return self.faiss.SearchParametersHNSW(sel=self.faiss.IDSelectorBitmap(self.bits), efSearch=300)

    def find(self, query, selected):
        _, labels = self.index.search(query[None], 10, params=selected)
        return [int(x) for x in labels[0] if x >= 0]


class Qdrant:
    name = "Qdrant, local mode"

    def __init__(self, vectors):
        from qdrant_client import QdrantClient, models

        self.models = models
        self.client = QdrantClient(":memory:")
        space = models.VectorParams(size=vectors.shape[1], distance=models.Distance.DOT)
        self.client.create_collection("c", vectors_config=space)
        self.client.upload_collection(
            "c", vectors=vectors, ids=range(len(vectors)), payload=({"row": i} for i in range(len(vectors)))
        )

    def prepare(self, rows):
        return self.models.Filter(must=[self.models.HasIdCondition(has_id=rows.tolist())])

    def find(self, query, only):
        return [p.id for p in self.client.query_points("c", query=query, query_filter=only, limit=10).points]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--vectors", required=True)
    parser.add_argument("--queries", required=True)
    parser.add_argument("--dim", type=int, required=True)
    parser.add_argument("--lab", default="", help="the program conclave-lab, which measures conclave's own")
    parser.add_argument("--count", type=int, default=100, help="queries")
    parser.add_argument("--patience", type=float, default=20, help="seconds of one row, of at least five queries")
    o = parser.parse_args()
    read = lambda name: np.fromfile(name, np.float16).reshape(-1, o.dim).astype(np.float32)  # noqa: E731
    vectors, queries = read(o.vectors), read(o.queries)[: o.count]
    rows = []
    if o.lab:
        shares = ",".join(map(str, SHARES))
        command = [o.lab, "bench", "ann", "--vectors", o.vectors, "--queries", o.queries, "--dim", str(o.dim)]
        said = subprocess.run(
            [*command, "--ef", "300", "--threads", "1", "--filters", "--shares", shares, "--json"],
            check=True,
            capture_output=True,
        )
        for p in json.loads(said.stdout):
            if p["tags"] in ("random", "near", "far"):
                rows.append(
                    {
                        "engine": "conclave",
                        "filter": p["tags"],
                        "share": p["selectivity"],
                        "recall10": round(p["recall10"], 4),
                        "qps": round(p["qps"], 1),
                    }
                )
    for kind in (Hnswlib, Faiss, Qdrant):
        start = time.perf_counter()
        try:
            engine = kind(vectors)
        except ImportError as e:
            print(f"{kind.name} is not here: {e}", file=sys.stderr)
            continue
        print(f"{kind.name}: built in {time.perf_counter() - start:.0f} s", file=sys.stderr)
        for filters in ("random", "near", "far"):
            allowed = allowed_of(filters, vectors, queries, np.random.default_rng(7))
            for share in SHARES:
                row = {"engine": kind.name, "filter": filters, "share": share}
                rows.append(row | measure(engine, vectors, queries, allowed, share, o.patience))
                print(json.dumps(rows[-1]), file=sys.stderr)
        del engine
    print("| engine | filter | share | recall@10 | queries a second |\n| --- | --- | ---: | ---: | ---: |")
    for r in rows:
        print(f"| {r['engine']} | {r['filter']} | {100 * r['share']:g} % | {r['recall10']:.4f} | {r['qps']:g} |")


if __name__ == "__main__":
    main()
