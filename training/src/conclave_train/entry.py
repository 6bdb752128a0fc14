"""The program ``conclave-train``: what is missing is said before anything is read."""

from __future__ import annotations

import sys
from importlib.util import find_spec

NO_TORCH = """conclave-train: PyTorch is not installed. Nothing fetches it by itself: its builds differ much in size.
Without a GPU, install its CPU build (200 MB): choose "CPU" at https://pytorch.org/get-started and run the line for pip.
With a GPU of NVIDIA: pip install torch (on Linux 5.5 GB with the libraries of CUDA)."""


def main() -> int:
    """Run the command, or say what it needs. Exit status as ``conclave_train.cli`` has it."""
    if find_spec("torch") is None:
        print(NO_TORCH, file=sys.stderr)
        return 1
    from conclave_train.cli import main as run

    return run()
