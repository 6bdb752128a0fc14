"""The raw speed of a model in Python's onnxruntime, for research/bench/encoder.

Reads a model's path, the number of threads and, as JSON on the first line of
its input, rows of token ids. Then each line of input is a wish, answered by
one line of JSON:

    batch    seconds for all rows in batches of 32, as they come
    sorted   the same, the rows sorted by length
    single   seconds of each row alone, for the first 200

Padded inputs are made beforehand: only session.run is timed.
"""

import json
import sys
import time

import numpy
import onnxruntime


def feed(rows):
    ids = numpy.zeros((len(rows), max(map(len, rows))), numpy.int64)
    mask = numpy.zeros_like(ids)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = row
        mask[i, : len(row)] = 1
    values = {"input_ids": ids, "attention_mask": mask, "token_type_ids": numpy.zeros_like(ids)}
    return {name: values[name] for name in names}


def seconds(feeds):
    out = []
    for f in feeds:
        begun = time.perf_counter()
        session.run(None, f)
        out.append(time.perf_counter() - begun)
    return out


options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(sys.argv[2])
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
names = [i.name for i in session.get_inputs()]
rows = json.loads(sys.stdin.readline())
in_order = [feed(rows[i : i + 32]) for i in range(0, len(rows), 32)]
by_length = sorted(rows, key=len)
by_length = [feed(by_length[i : i + 32]) for i in range(0, len(rows), 32)]
alone = [feed([row]) for row in rows[:200]]
seconds(alone[:10])
print(json.dumps(onnxruntime.__version__), flush=True)
for wish in sys.stdin:
    wish = wish.strip()
    if wish == "single":
        print(json.dumps(seconds(alone)), flush=True)
    else:
        print(json.dumps(sum(seconds(in_order if wish == "batch" else by_length))), flush=True)
