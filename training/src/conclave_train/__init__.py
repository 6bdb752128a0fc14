"""Trains the experts that conclave serves.

Terms: a *passage* has an id, a title and a text; a *question* names the passages
that answer it (its positives). An *expert* is a bi-encoder fine-tuned on one
domain: two BERT towers, or one for both sides (tied), whose vectors' inner
product says how well a passage answers a question. A *bundle* is an expert's
folder. A *delta* is what fine-tuning changed, as low-rank factors. An *ensemble*
is K small networks on the frozen question vector whose disagreement is the
expert's uncertainty.
"""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("conclave-train")
except PackageNotFoundError:  # run from the source folder
    __version__ = "0.1.0"
