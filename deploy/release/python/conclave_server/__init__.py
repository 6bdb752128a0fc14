"""The program conclave, as pip installs it. The client is the package conclave_client."""

from pathlib import Path

PROGRAM = Path(__file__).parent / "bin" / "conclave"
"""The program. It finds the runtime and the weights in the packages beside this one."""
