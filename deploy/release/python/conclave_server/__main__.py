"""Becomes the program."""

import os
import sys
from pathlib import Path
from typing import NoReturn

from conclave_server import PROGRAM


def main() -> NoReturn:
    """Replaces this process by the program, which fetches with the pip of this interpreter."""
    path = os.environ.get("PATH", os.defpath)
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), path])
    os.execv(PROGRAM, [str(PROGRAM), *sys.argv[1:]])


if __name__ == "__main__":
    main()
