"""One index of another library, in a process of its own, for ann_peer.py.

    python3 peer_index.py hnswlib|faiss|scann VECTORS QUERIES TRUTH DIM THREADS

Builds the index and answers, as lines of JSON: first what the build took
(seconds, growth of resident memory, the process's peak of it), then for each
line of input what it asks for:

    measure   one round of all queries at every ef, by one thread
    save      the size of the saved index; asked for at the end, so that the
              disk is not busy with it while others build

A process of its own, because a process's peak of resident memory includes
whatever else it did. The vectors as float32, which the index is built from, and
the interpreter count in the peak; the growth is that of the build alone.
"""

import json
import os
import sys
import tempfile
import time

import numpy as np

K = 100


def read(path, dim):
    kind = "<f2" if path.endswith(".f16") else "<f4"
    return np.fromfile(path, dtype=kind).astype(np.float32).reshape(-1, dim)


def resident():
    """Bytes that this process has resident; 0 where the system does not say."""
    try:
        with open("/proc/self/statm") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def peak_resident():
    """The most bytes that this process has had resident; 0 where unknown."""
    try:
        with open("/proc/self/status") as f:
            return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmHWM:"))
    except OSError:
        return 0


class Hnswlib:
    name = "hnswlib M 16 efConstruction 200"
    ef = [100, 150, 200, 300, 400, 600]

    def __init__(self):
        import hnswlib
        self.library = hnswlib

    def build(self, rows, threads):
        self.index = self.library.Index(space="ip", dim=rows.shape[1])
        self.index.init_index(len(rows), ef_construction=200, M=16)
        self.index.set_num_threads(threads)
        self.index.add_items(rows)

    def save(self, path):
        self.index.save_index(path)

    def search(self, query):
        return self.index.knn_query(query, k=K, num_threads=1)[0][0]

    def set(self, ef):
        self.index.set_ef(ef)


class Faiss:
    name = "faiss HNSW32"
    ef = [100, 200, 400]

    def __init__(self):
        import faiss
        self.library = faiss

    def build(self, rows, threads):
        self.library.omp_set_num_threads(threads)
        self.index = self.library.IndexHNSWFlat(rows.shape[1], 32, self.library.METRIC_INNER_PRODUCT)
        self.index.hnsw.efConstruction = 200
        self.index.add(rows)
        self.library.omp_set_num_threads(1)

    def save(self, path):
        self.library.write_index(self.index, path)

    def search(self, query):
        return self.index.search(query.reshape(1, -1), K)[1][0]

    def set(self, ef):
        self.index.hnsw.efSearch = ef


class Scann:
    """A tree with asymmetric hashing and reordering. What is swept as ef is how many leaves are searched."""
    name = "ScaNN, 2√n leaves, 400 reordered"
    ef = [20, 40, 60, 80, 120, 160, 200, 250, 300]

    def __init__(self):
        import scann
        self.library = scann.scann_ops_pybind

    def build(self, rows, threads):
        leaves = int(2 * len(rows) ** 0.5)
        self.index = (
            self.library.builder(rows, K, "dot_product")
            .tree(num_leaves=leaves, num_leaves_to_search=leaves // 10, training_sample_size=min(len(rows), 250_000))
            .score_ah(2, anisotropic_quantization_threshold=0.2)
            .reorder(400)
            .set_n_training_threads(threads)
            .build())

    def save(self, path):
        os.mkdir(path)
        self.index.serialize(path)

    def search(self, query):
        return self.index.search(query, final_num_neighbors=K, pre_reorder_num_neighbors=400, leaves_to_search=self.leaves)[0]

    def set(self, ef):
        self.leaves = ef


def size_of(path):
    if os.path.isdir(path):
        return sum(os.path.getsize(os.path.join(path, name)) for name in os.listdir(path))
    return os.path.getsize(path)


def build(peer, rows, threads):
    before, start = resident(), time.perf_counter()
    peer.build(rows, threads)
    return {
        "name": peer.name, "build_s": time.perf_counter() - start,
        "bytes_per_vector": (resident() - before) / len(rows), "peak_resident_bytes": peak_resident(),
    }


def save(peer, rows):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "index")
        peer.save(path)
        return {"disk_bytes_per_vector": size_of(path) / rows}


def measure(peer, queries, truth):
    points = []
    for ef in peer.ef:
        peer.set(ef)
        start = time.perf_counter()
        found = [peer.search(q) for q in queries]
        seconds = time.perf_counter() - start
        points.append({
            "ef": ef,
            "qps": len(queries) / seconds,
            "recall10": np.mean([len(set(f[:10]) & set(t[:10])) / 10 for f, t in zip(found, truth)]),
            "recall100": np.mean([len(set(f) & set(t)) / K for f, t in zip(found, truth)]),
        })
    return points


def main():
    name, vectors, queries, truth, dim, threads = sys.argv[1:]
    try:
        peer = {"hnswlib": Hnswlib, "faiss": Faiss, "scann": Scann}[name]()
    except ImportError as e:
        print(json.dumps({"missing": str(e)}), flush=True)
        return
    queries, truth = read(queries, int(dim)), np.fromfile(truth, dtype="<i4").reshape(-1, K)
    rows = read(vectors, int(dim))
    print(json.dumps(build(peer, rows, int(threads))), flush=True)
    for wish in sys.stdin:
        answer = save(peer, len(rows)) if wish.strip() == "save" else measure(peer, queries, truth)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
