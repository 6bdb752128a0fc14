"""Builds the eight domains of which README and docs/evidence/measured.md give figures, from their public sources.

    build.py --print-sources                 what has to be checked out: folder, repository, commit
    build.py --sources FOLDER --out FOLDER   build, and compare with SHA256SUMS

FOLDER/OWNER/NAME of --sources is a checkout of that repository at that commit. A domain whose files are not those of
the list is named, and the exit code is 1: figures are those of the list alone.
"""

import argparse
import gzip
import hashlib
import sys
from pathlib import Path

from rules import make, write
from sources import SOURCES


def main(arguments: list[str] | None = None) -> int:
    """Builds the domains, and returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--domains", default=",".join(SOURCES), help="names separated by commas")
    parser.add_argument("--sums", type=Path, default=Path(__file__).parent / "SHA256SUMS")
    parser.add_argument("--print-sources", action="store_true")
    o = parser.parse_args(arguments)
    if o.print_sources:
        for repository, commit in sorted({(s.repository, s.commit) for s in SOURCES.values()}):
            print(repository, commit)
        return 0
    if o.sources is None or o.out is None:
        parser.error("--sources and --out are needed")
    unknown = [name for name in o.domains.split(",") if name not in SOURCES]
    if unknown:
        parser.error(f"no such domain: {', '.join(unknown)}; there are {', '.join(SOURCES)}")
    for name in o.domains.split(","):
        source = SOURCES[name]
        passages, questions = make(source.read(o.sources / source.repository), source.rules)
        write(o.out / name, passages, questions)
        print(f"{name}: {len(passages)} passages, {', '.join(f'{len(q)} {s}' for s, q in questions.items())}")
    return compare(o.out, o.sums, o.domains.split(","))


def compare(out: Path, sums: Path, domains: list[str]) -> int:
    """Compares what was built, unpacked, with the committed list, and returns the exit code."""
    code = 0
    for line in sums.read_text(encoding="utf-8").splitlines():
        want, name = line.split()
        if name.split("/")[0] not in domains:
            continue
        got = hashlib.sha256(gzip.decompress((out / f"{name}.gz").read_bytes())).hexdigest()
        if got != want:
            print(f"{name}: its SHA-256 is {got}, that of the list is {want}", file=sys.stderr)
            code = 1
    print("all files are those of the list" if code == 0 else "figures cannot be compared")
    return code


if __name__ == "__main__":
    sys.exit(main())
