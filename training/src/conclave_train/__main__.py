"""`python -m conclave_train` is `conclave-train`."""

import sys

from conclave_train.cli import main

if __name__ == "__main__":
    sys.exit(main())
