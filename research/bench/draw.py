"""What the scripts that draw a smaller corpus share."""

import gzip
import hashlib
import json


def read(path):
    with gzip.open(path, "rt") as lines:
        return [json.loads(line) for line in lines]


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def by_hash(salt):
    """An order of records that their ids and the salt decide."""
    return lambda record: hashlib.sha256((salt + "\n" + record["id"]).encode()).hexdigest()
