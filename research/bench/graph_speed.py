"""The graphs that conclave writes beside PyTorch's exports of the same model.

Both run in the same ONNX Runtime, in one process, alternating in random order,
so that what else the machine does falls on both. The peers are the encoder
with its pooling and normalisation, exported by both of PyTorch's exporters
with both of its attentions; for int8, the same after
onnxruntime.quantization.quantize_dynamic with one scale per output channel.
The ratio is the time of the fastest peer divided by ours: above 1, ours is
faster. It is taken from medians and, less moved by other work on the machine,
from minima.

    pip install -r research/bench/requirements-torch.txt
    python research/bench/graph_speed.py [--threads 1] [--rounds 1]
"""
import argparse
import json
import os
import random
import tempfile
import time
import warnings
from pathlib import Path

import numpy
import onnxruntime

# texts a batch, longest text in tokens, rounds
CASES = [(1, 12, 150), (1, 128, 40), (32, 12, 40), (32, 128, 8)]


def cache():
    root = os.environ.get("CONCLAVE_CACHE")
    if root:
        return Path(root)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "conclave"


def export(checkpoint, folder):
    """Writes the peers and returns their paths, fp32 and int8."""
    import torch
    import transformers
    from onnxruntime.quantization import QuantType, quantize_dynamic

    class Sentence(torch.nn.Module):
        def __init__(self, attention):
            super().__init__()
            self.bert = transformers.AutoModel.from_pretrained(checkpoint, attn_implementation=attention)

        def forward(self, input_ids, attention_mask, token_type_ids):
            hidden = self.bert(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)[0]
            mask = attention_mask.unsqueeze(-1).to(hidden.dtype)
            mean = (hidden * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
            return torch.nn.functional.normalize(mean, dim=1)

    names = ["input_ids", "attention_mask", "token_type_ids"]
    ids = torch.randint(1000, 2000, (2, 10), generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(ids)
    mask[1, 7:] = 0
    inputs = (ids, mask, torch.zeros_like(ids))
    full, short = [], []
    for attention in ("eager", "sdpa"):
        for dynamo in (False, True):
            path = folder / f"{attention}-{'dynamo' if dynamo else 'torchscript'}.onnx"
            options = {"opset_version": 17, "dynamic_axes": {n: {0: "batch", 1: "sequence"} for n in names}}
            if dynamo:
                axes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("sequence", max=512)}
                options = {"dynamic_shapes": [axes] * 3, "external_data": False, "verbose": False}
            try:
                torch.onnx.export(Sentence(attention).eval(), inputs, str(path), input_names=names,
                                  output_names=["vector"], dynamo=dynamo, **options)
                quantised = path.with_suffix(".int8.onnx")
                quantize_dynamic(str(path), str(quantised), per_channel=True, weight_type=QuantType.QInt8)
            except Exception as e:  # an exporter that cannot is named and passed over
                print(f"passed over {path.stem}: {type(e).__name__}: {str(e)[:200]}")
                continue
            full.append(path)
            short.append(quantised)
    return full, short


def session(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    # a session's threads spin after a run; with several sessions in one process
    # they would take the cores of the next one
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def feed(s, batch, length, seed=0):
    """Random word pieces; texts of half to all of length."""
    source = numpy.random.default_rng(seed)
    ids = source.integers(1000, 30000, (batch, length))
    mask = numpy.ones_like(ids)
    for row in range(1, batch):
        mask[row, source.integers(length // 2, length + 1):] = 0
    values = {"input_ids": ids, "attention_mask": mask, "token_type_ids": numpy.zeros_like(ids)}
    return {i.name: values[i.name] for i in s.get_inputs()}


def compare(name, ours, peers, threads, rounds, least):
    sessions = [session(p, threads) for p in [ours, *peers]]
    vectors = [s.run(None, feed(s, 8, 40))[0] for s in sessions]
    for path, v in zip(peers, vectors[1:]):
        cosine = (v * vectors[0]).sum(1).min()
        if cosine < least:
            raise SystemExit(f"{path.name} computes something else: cosine {cosine:.4f}")
    results = []
    for batch, length, repeats in CASES:
        feeds = [feed(s, batch, length) for s in sessions]
        times = [[] for _ in sessions]
        for r in range(repeats * rounds + 2):
            for k in random.sample(range(len(sessions)), len(sessions)):
                begin = time.perf_counter()
                sessions[k].run(None, feeds[k])
                if r >= 2:
                    times[k].append(time.perf_counter() - begin)
        medians = [float(numpy.median(t)) for t in times]
        minima = [min(t) for t in times]
        best = 1 + int(numpy.argmin(medians[1:]))
        results.append({
            "precision": name, "threads": threads, "batch": batch, "tokens": length,
            "ours_ms": 1e3 * medians[0], "peer_ms": 1e3 * medians[best], "peer": peers[best - 1].stem,
            "ratio": medians[best] / medians[0], "ratio_of_minima": min(minima[1:]) / minima[0],
        })
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", type=Path, default=cache() / "checkpoints" / "all-minilm-l6-v2")
    parser.add_argument("--fp32", type=Path, default=cache() / "bundles" / "base-fp32", help="bundle of the checkpoint")
    parser.add_argument("--int8", type=Path, default=cache() / "bundles" / "base", help="bundle of the checkpoint")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, os.cpu_count()])
    parser.add_argument("--rounds", type=int, default=1, help="multiplies the number of runs")
    parser.add_argument("--peers", type=Path, help="folder to keep the exports in, and to take them from")
    parser.add_argument("--json", action="store_true")
    a = parser.parse_args()
    warnings.filterwarnings("ignore")
    random.seed(1)
    with tempfile.TemporaryDirectory() as temporary:
        folder = a.peers or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        full = sorted(p for p in folder.glob("*.onnx") if ".int8" not in p.name)
        short = sorted(folder.glob("*.int8.onnx"))
        if not full or len(full) != len(short):
            full, short = export(a.checkpoint, folder)
        results = []
        for threads in dict.fromkeys(a.threads):
            results += compare("fp32", a.fp32 / "encoder.onnx", full, threads, a.rounds, 0.9999)
            results += compare("int8", a.int8 / "encoder.onnx", short, threads, a.rounds, 0.95)
    if a.json:
        print(json.dumps(results, indent=2))
        return
    print("precision threads batch tokens  ours ms  peer ms  ratio  of minima  fastest peer")
    for r in results:
        print(f"{r['precision']:9} {r['threads']:7} {r['batch']:5} {r['tokens']:6} {r['ours_ms']:8.2f} {r['peer_ms']:8.2f} "
              f"{r['ratio']:6.2f} {r['ratio_of_minima']:10.2f}  {r['peer']}")


if __name__ == "__main__":
    main()
