"""``expert.yaml``: what a bundle says of itself, and the folder that holds it.

The format is the Go package ``models``'; the last line is a checksum of those
before it. A bundle of a delta has ``base`` and ``delta`` in place of graphs and
tokenizer; training/README.md writes that down.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import yaml

from conclave_train.errors import TrainingError

MANIFEST, CARD, CALIBRATION = "expert.yaml", "CARD.md", "calibration.yaml"
SEAL = "# sha256 of the lines above: "
NAME = re.compile(r"^[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9])?$")


def check_name(name: str) -> str:
    """An expert's name as the server allows it."""
    if not NAME.match(name):
        raise TrainingError(
            f"--name: {name!r} is not 1 to 64 of a-z 0-9 . _ - that begin and end with a letter or digit"
        )
    return name


@dataclass(frozen=True, kw_only=True)
class Stated:
    """What the manifests of encoders and of readers have in common; ``files`` and ``format`` are added."""

    name: str
    kind: str
    lower_case: bool
    source: str
    source_sha256: str
    architecture: str
    licence: str
    base_name: str = ""  # with delta: the name of the base's bundle
    delta: str = ""
    tokenizer: str = ""
    notes: dict[str, str] = field(default_factory=dict)

    def values(self) -> dict[str, Any]:
        """What decides about vectors, or about scores and spans."""
        raise NotImplementedError

    def graphs(self) -> dict[str, Any]:
        """The graphs of a bundle without a delta."""
        raise NotImplementedError

    def extras(self) -> dict[str, Any]:
        """What else the bundle holds."""
        return {}

    def encode(self, files: dict[str, str]) -> bytes:
        """The sealed text; ``files`` maps names to SHA-256."""
        out: dict[str, Any] = {"format": 1, "name": self.name, "kind": self.kind}
        if self.delta:
            out["base"] = {"name": self.base_name, "weights_sha256": self.source_sha256}
            out["delta"] = self.delta
        out |= self.values()
        if not self.delta:
            out["tokenizer"] = self.tokenizer
            out |= self.graphs()
        out |= self.extras()
        out["lineage"] = {
            "source": self.source,
            "source_sha256": self.source_sha256,
            "architecture": self.architecture,
            "licence": self.licence,
            "producer": "conclave-train",
            "notes": dict(sorted(self.notes.items())),
        }
        out["files"] = dict(sorted(files.items()))
        return seal(out)


def stated(values: dict[str, Any]) -> dict[str, Any]:
    """The fields of :class:`Stated` of a delta's bundle, from its decoded file."""
    lineage = values["lineage"]
    return {
        **{key: values[key] for key in ("name", "kind", "lower_case", "delta")},
        **{key: lineage[key] for key in ("source", "source_sha256", "architecture", "licence", "notes")},
        "base_name": values["base"]["name"],
    }


@dataclass(frozen=True, kw_only=True)
class Manifest(Stated):
    """An encoder's."""

    dimension: int
    pooling: str
    normalise: bool
    max_tokens: tuple[int, int]  # question, passage
    template: str
    prefix: tuple[str, str] = ("", "")  # what comes before questions and passages
    languages: tuple[str, ...] = ()  # that the encoder reads, by their codes; "many"; (): not known
    kind: str = "dense"  # "late": a vector and an importance per token
    question: str = ""  # with graphs: their files
    passage: str = ""
    ensemble: tuple[str, int] | None = None  # file, members
    representatives: str = ""

    @property
    def output(self) -> str:
        """The name of a graph's output: one vector a text, or one row a token."""
        return "tokens" if self.kind == "late" else "embedding"

    def values(self) -> dict[str, Any]:
        question, passage = self.prefix
        said = {"prefix": {"question": question, "passage": passage}} if question or passage else {}
        return {
            "dimension": self.dimension,
            "pooling": self.pooling,
            "normalise": self.normalise,
            "max_tokens": {"question": self.max_tokens[0], "passage": self.max_tokens[1]},
            "lower_case": self.lower_case,
            "template": self.template,
            **said,
            "similarity": "inner-product",
            **({"languages": list(self.languages)} if self.languages else {}),
            "precision": "fp32",
        }

    def graphs(self) -> dict[str, Any]:
        names = {"input_ids": "input_ids", "attention_mask": "attention_mask", "embedding": self.output}
        return {"question": {"file": self.question, **names}, "passage": {"file": self.passage, **names}}

    def extras(self) -> dict[str, Any]:
        out: dict[str, Any] = {}
        if self.ensemble is not None:
            out["ensemble"] = {"file": self.ensemble[0], "members": self.ensemble[1]}
        if self.representatives and self.delta:
            out["representatives"] = self.representatives
        return out

    def fingerprint(self, side: str, files: dict[str, str]) -> str:
        """What Go's ``models.Bundle.Fingerprint`` gives for a bundle with graphs; of a delta, its file's SHA-256."""
        if self.delta:
            return files[self.delta]
        question = side == "question"
        before = self.prefix[0 if question else 1]
        text = (
            f'conclave encoder 1\nkind "{self.kind}"\ndimension {self.dimension}\npooling "{self.pooling}"\n'
            f"normalise {str(self.normalise).lower()}\nmax_tokens {self.max_tokens[0 if question else 1]}\n"
            f"lower_case {str(self.lower_case).lower()}\n"
            f'template "{"text" if question else self.template}"\nsimilarity "inner-product"\nprecision "fp32"\n'
            f"tokenizer {files[self.tokenizer]}\ngraph {files[self.question if question else self.passage]}\n"
            f'names "input_ids" "attention_mask" "" "{self.output}"\n'
            "one_by_one false\n"
        )
        if before:
            text += f"prefix {json.dumps(before, ensure_ascii=False)}\n"
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, kw_only=True)
class ReaderManifest(Stated):
    """A reader's: no vector comes of it, so it has none of the keys that decide about vectors."""

    max_tokens: tuple[int, int, int]  # question, title, and all together
    longest_span: int
    kind: str = "reader"
    graph: str = ""  # without delta: its file

    def values(self) -> dict[str, Any]:
        question, title, pair = self.max_tokens
        return {
            "max_tokens": {"question": question, "title": title, "pair": pair},
            "longest_span": self.longest_span,
            "lower_case": self.lower_case,
            "precision": "fp32",
        }

    def graphs(self) -> dict[str, Any]:
        names = ("input_ids", "attention_mask", "start", "end", "select")
        return {"reader": {"file": self.graph, **{name: name for name in names}}}


@dataclass(frozen=True, kw_only=True)
class HeadManifest(Stated):
    """A DESIRE-ME expert's: a graph on the question vectors of its base, whose passages are its passages."""

    dimension: int
    normalise: bool
    domains: tuple[str, ...]

    def values(self) -> dict[str, Any]:
        return {
            "dimension": self.dimension,
            "normalise": self.normalise,
            "precision": "fp32",
            "head": {"file": self.delta, "domains": list(self.domains)},
        }


def manifest_of(values: dict[str, Any]) -> Manifest:
    """The manifest of a delta's bundle, from its decoded file."""
    try:
        ensemble, tokens, before = values.get("ensemble"), values["max_tokens"], values.get("prefix", {})
        return Manifest(
            **stated(values),
            **{key: values[key] for key in ("dimension", "pooling", "normalise", "template")},
            prefix=(before.get("question", ""), before.get("passage", "")),
            languages=tuple(values.get("languages", ())),
            max_tokens=(tokens["question"], tokens["passage"]),
            ensemble=(ensemble["file"], ensemble["members"]) if ensemble else None,
            representatives=values.get("representatives", ""),
        )
    except (KeyError, TypeError) as error:
        raise TrainingError(f"{MANIFEST} lacks {error}") from error


def reader_manifest_of(values: dict[str, Any]) -> ReaderManifest:
    """The same of a reader's."""
    try:
        tokens = values["max_tokens"]
        return ReaderManifest(
            **stated(values),
            max_tokens=(tokens["question"], tokens["title"], tokens["pair"]),
            longest_span=values["longest_span"],
        )
    except (KeyError, TypeError) as error:
        raise TrainingError(f"{MANIFEST} lacks {error}") from error


def seal(values: dict[str, Any]) -> bytes:
    """YAML with the checksum line that the server verifies."""
    text = yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=10_000).encode()
    return text + f"{SEAL}{hashlib.sha256(text).hexdigest()}\n".encode()


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest's values, after checking the seal and every file's SHA-256."""
    path = folder / MANIFEST
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise TrainingError(f"{folder} is no expert bundle: it has no {MANIFEST}") from None
    values = unseal(path, data)
    files = values.get("files")
    if not isinstance(files, dict):
        raise TrainingError(f"{path}: no files are listed")
    for name, sum in files.items():
        file = folder / name
        if not file.is_file():
            raise TrainingError(f"{folder}: {name} is missing")
        if hash_file(file) != sum:
            raise TrainingError(f"{folder}: {name} has changed: its SHA-256 is not the manifest's")
    return values


def unseal(path: Path, data: bytes) -> dict[str, Any]:
    """Check the last line, if it is a seal, and parse the YAML."""
    body, _, last = data.rstrip(b"\n").rpartition(b"\n")
    if last.startswith(b"#") and last.decode() != SEAL + hashlib.sha256(body + b"\n").hexdigest():
        raise TrainingError(f"{path}: the file was changed after it was written")
    try:
        values = yaml.safe_load(data)
    except yaml.YAMLError as error:
        raise TrainingError(f"{path}: {error}") from error
    if not isinstance(values, dict):
        raise TrainingError(f"{path}: is no manifest")
    return values


def hash_file(path: Path) -> str:
    """SHA-256 in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Folder:
    """A bundle being written: nothing shows under its final name until :meth:`finish`."""

    def __init__(self, target: Path) -> None:
        if target.exists() and (not target.is_dir() or (any(target.iterdir()) and not (target / MANIFEST).exists())):
            raise TrainingError(f"{target} exists and is no expert bundle: choose another --out, or remove it")
        target.parent.mkdir(parents=True, exist_ok=True)
        self.target = target
        self.work = Path(tempfile.mkdtemp(prefix=f".{target.name}.tmp-", dir=target.parent))
        self.work.chmod(0o755)

    def __enter__(self) -> Folder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self.work, ignore_errors=True)

    def path(self, name: str) -> Path:
        """Where to write a file of the bundle."""
        return self.work / name

    def sums(self) -> dict[str, str]:
        """SHA-256 of every file so far, but for manifest and calibration, which no manifest lists."""
        return {f.name: hash_file(f) for f in sorted(self.work.iterdir()) if f.name not in (MANIFEST, CALIBRATION)}

    def finish(self, manifest: Stated, card: str, calibration: dict[str, Any] | None = None) -> Path:
        """Write card, manifest and calibration, put the folder in its place, and verify it."""
        self.path(CARD).write_text(card, "utf-8")
        files = self.sums()
        self.path(MANIFEST).write_bytes(manifest.encode(files))
        if calibration is not None:
            assert isinstance(manifest, Manifest), "a calibration belongs to vectors"
            self.path(CALIBRATION).write_bytes(
                seal({**calibration, "encoder": manifest.fingerprint("question", files)})
            )
        return self._place()

    def adopt(self, bundle: Path) -> Path:
        """Take over the files of another bundle, put the folder in its place, and verify it."""
        for file in bundle.iterdir():
            shutil.copyfile(file, self.path(file.name))
        return self._place()

    def _place(self) -> Path:
        old = self.work.with_name(self.work.name + ".old")
        if self.target.exists():
            self.target.rename(old)
        self.work.rename(self.target)
        shutil.rmtree(old, ignore_errors=True)
        read_manifest(self.target)
        return self.target
