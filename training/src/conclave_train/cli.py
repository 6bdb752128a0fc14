"""The command ``conclave-train``. Exit status: 0, 1 failed, 2 usage, 130 stopped (and resumable)."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from conclave_train import __version__
from conclave_train.bundle.manifest import check_name, read_manifest
from conclave_train.data.jsonl import Labels, read_questions
from conclave_train.data.load import load, load_files
from conclave_train.data.records import Domain, union
from conclave_train.desire_me.settings import DesireMeSettings
from conclave_train.desire_me.train import DesireMeJob, train_desire_me
from conclave_train.end_to_end import EndToEndJob, train_end_to_end
from conclave_train.ensemble import ServedBy, train_ensemble, train_served_ensemble
from conclave_train.errors import Interrupted, TrainingError
from conclave_train.expert import train_expert
from conclave_train.export import export
from conclave_train.fid import FidJob, train_fid
from conclave_train.finding.server import Server
from conclave_train.fit.encode import Device
from conclave_train.job import Job
from conclave_train.late import LateJob, train_late
from conclave_train.reader import ReaderJob, train_reader
from conclave_train.settings import (
    EndToEndSettings,
    EnsembleSettings,
    ExpertSettings,
    FidSettings,
    LateSettings,
    ReaderSettings,
    add_options,
    from_options,
)
from conclave_train.stop import Stop

EXAMPLES = """examples:
  conclave-train expert --passages p.jsonl --questions q.jsonl --name mydomain
  conclave-train expert --data beir/scifact --name scifact --epochs 3 --mine-at 2,3
  conclave-train multi --data data/wiki --data data/policy --name multi --limit 3000
  conclave-train late --data data/wiki --data data/policy --limit 1000
  conclave-train desire-me --data data/wiki --data data/policy --compare dev
  conclave-train reader --data data/wiki --data data/nq
  conclave-train fid --base ./t5-small --data data/wiki --name writer
  conclave-train end-to-end --passages p.jsonl --questions q.jsonl --collection my-index --name mydomain
  conclave-train end-to-end --passages p.jsonl --questions q.jsonl --reader ./my-t5 --name mydomain
  conclave-train ensemble --bundle experts/mydomain --passages p.jsonl --questions more.jsonl
  conclave-train ensemble --url http://127.0.0.1:8080 --expert hosted --passages p.jsonl --questions q.jsonl
  conclave-train verify experts/*"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    options = _parser().parse_args(arguments)
    stop = Stop()
    try:
        with stop:
            return int(options.run_command(options, stop))
    except Interrupted as error:
        print(f"conclave-train: {error}", file=sys.stderr)
        return 130
    except TrainingError as error:
        print(f"conclave-train: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="conclave-train",
        description="Train the experts that conclave serves.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"conclave-train {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, help in (
        ("expert", "fine-tune an expert on one domain, with its ensemble, and write its bundle"),
        ("multi", "the same on the union of several domains (DPR-Multi)"),
    ):
        p = _command(commands, name, help)
        _task_options(p, "" if name == "expert" else name)
        p.add_argument("--weights", choices=("delta", "onnx"), default="delta", help="what travels (default: delta)")
        p.add_argument("--template", default="", help="text, title-dot-text or pair (default: by the base)")
        p.add_argument("--pooling", default="", help="cls, mean or pooler (default: the base's)")
        p.add_argument("--normalise", action=argparse.BooleanOptionalAction, help="unit length (default: the base's)")
        p.add_argument(
            "--representatives",
            type=int,
            default=256 if name == "expert" else 0,
            help="question vectors for familiarity; 0: none, for an expert without a domain (default: %(default)s)",
        )
        p.add_argument("--ensemble", action=argparse.BooleanOptionalAction, default=True, help="add an ensemble")
        add_options(p, ExpertSettings, "fine-tuning")
        add_options(p, EnsembleSettings, "ensemble")
        p.set_defaults(run_command=_expert)
    p = _command(commands, "late", "train a head of late interaction (a vector per token) on a frozen base")
    _task_options(p, "late")
    p.add_argument("--template", default="title-dot-text", help="text, title-dot-text or pair (default: %(default)s)")
    p.add_argument(
        "--language",
        action="append",
        default=[],
        help="code of a language that the base reads, or many; may be repeated",
    )
    add_options(p, LateSettings, "training")
    p.set_defaults(run_command=_late)
    p = _command(commands, "desire-me", "train a gate and specialisers on a frozen base's question vectors (DESIRE-ME)")
    _task_options(p, "desire-me")
    p.add_argument("--compare", metavar="SPLIT", help="train the other modes too, and measure all on these questions")
    p.add_argument(
        "--foreign", type=Path, action="append", default=[],
        help="questions of no domain, in JSON Lines: the gate learns to let them pass; may be repeated",
    )  # fmt: skip
    add_options(p, DesireMeSettings, "training")
    p.set_defaults(run_command=_desire_me)
    p = _command(commands, "reader", "fine-tune a reader: the words that answer, and whether a passage does")
    _task_options(p, "reader")
    add_options(p, ReaderSettings, "training")
    p.set_defaults(run_command=_reader)
    p = _command(commands, "fid", "fine-tune a T5 that writes an answer from several passages (Fusion-in-Decoder)")
    _task_options(p, "")
    add_options(p, FidSettings, "training")
    p.set_defaults(run_command=_fid)
    p = _command(
        commands, "end-to-end", "an expert from questions and answers alone, whose passages conclave or a reader finds"
    )
    _task_options(p, "")
    p.add_argument(
        "--reader",
        type=Path,
        help="a reader's bundle, which judges passages, or a T5's folder, which learns together with the retriever",
    )
    p.add_argument("--template", default="", help="text, title-dot-text or pair (default: by the base)")
    g = p.add_argument_group("finding passages, --way labels")
    g.add_argument("--collection", type=Path, help="a collection of the passages (default: one is made in --run)")
    g.add_argument("--url", default="", help="a server that has them; its key is $CONCLAVE_KEY")
    g.add_argument("--conclave", default="conclave", help="the program (default: conclave)")
    g.add_argument("--ensemble", action=argparse.BooleanOptionalAction, default=True, help="add an ensemble")
    add_options(p, EndToEndSettings, "training")
    add_options(p, EnsembleSettings, "ensemble")
    p.set_defaults(run_command=_end_to_end)
    p = _command(commands, "ensemble", "train a new ensemble for a delta's bundle, or for an expert of a server")
    p.add_argument("--bundle", type=Path, help="the expert's folder")
    p.add_argument(
        "--url", default="", help="a server that has the expert, in the place of --bundle; its key is $CONCLAVE_KEY"
    )
    p.add_argument("--expert", default="", help="the expert's name at the server")
    p.add_argument(
        "--out", type=Path, help="write the bundle here (default: in place), or ensemble.onnx (default: NAME)"
    )
    p.add_argument("--hold-out", type=float, default=0.1, help="share of questions kept for calibration (default: 0.1)")
    p.add_argument("--limit", type=int, default=0, help="train on at most so many questions, chosen by hash; 0: all")
    p.add_argument(
        "--pool", type=int, default=0, help="over so many passages: those that questions name, others by hash; 0: all"
    )
    _data_options(p)
    p.add_argument(
        "--foreign", type=Path, action="append", default=[],
        help="data of another domain, to measure how well the confidence tells home; may be repeated",
    )  # fmt: skip
    _machine_options(p)
    add_options(p, EnsembleSettings, "ensemble")
    p.set_defaults(run_command=_ensemble)
    p = _command(commands, "export", "merge a delta with its base into a bundle of whole ONNX graphs")
    p.add_argument("--bundle", type=Path, required=True, help="the expert's folder")
    p.add_argument("--base", type=Path, default=None, help="the base's checkpoint")
    p.add_argument("--out", type=Path, required=True, help="the new bundle's folder")
    p.set_defaults(run_command=_export)
    p = _command(commands, "verify", "check the files of bundles against their manifests")
    p.add_argument("bundles", type=Path, nargs="+", metavar="BUNDLE")
    p.set_defaults(run_command=_verify)
    return parser


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, help: str
) -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=help,
        description=help,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def _task_options(p: argparse.ArgumentParser, name: str) -> None:
    """What every job has; ``name`` is the default, without which it must be given."""
    _data_options(p)
    said = f" (default: {name})" if name else ""
    p.add_argument("--name", required=not name, default=name or None, help="the bundle's name" + said)
    p.add_argument("--out", type=Path, help="the bundle's folder (default: experts/NAME)")
    p.add_argument("--base-name", default="base", help="the name of the base's bundle (default: base)")
    p.add_argument("--licence", default="", help="the data's licence, for the card")
    _machine_options(p)


def _data_options(p: argparse.ArgumentParser) -> None:
    g = p.add_argument_group("data")
    g.add_argument(
        "--data", type=Path, action="append", default=[], help="a folder of JSON Lines or BEIR, or DPR's json"
    )
    g.add_argument("--passages", type=Path, action="append", default=[], help="passages in JSON Lines (.gz too)")
    g.add_argument("--questions", type=Path, action="append", default=[], help="questions in JSON Lines (.gz too)")
    g.add_argument("--split", default="train", help="which questions of a folder (default: train)")


def _machine_options(p: argparse.ArgumentParser) -> None:
    g = p.add_argument_group("machine")
    g.add_argument(
        "--base",
        type=Path,
        default=None,
        help="the base's checkpoint (default: what `conclave setup` fetched)",
    )
    g.add_argument("--run", type=Path, help="the run's folder, from which it goes on (default: runs/NAME)")
    g.add_argument("--fresh", action="store_true", help="begin again, whatever the run's folder holds")
    g.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="where to compute (default: auto)")
    g.add_argument(
        "--bf16",
        action=argparse.BooleanOptionalAction,
        help="bfloat16 products (default: on CUDA and on CPUs with AMX)",
    )
    g.add_argument("--threads", type=int, default=0, help="threads of the CPU (default: all)")
    g.add_argument("--quiet", action="store_true", help="no progress")


def _domains(options: argparse.Namespace, name: str, labels: Labels = "needed") -> tuple[Domain, ...]:
    domains = [load(path, split=options.split, labels=labels) for path in options.data]
    if options.passages or options.questions:
        domains.append(load_files(name, options.passages, options.questions, labels))
    if not domains:
        raise TrainingError("there is no data: give --data, or --passages and --questions")
    return tuple(domains)


def _base(options: argparse.Namespace) -> Path:
    if options.base is not None:
        return Path(options.base)
    cache = os.environ.get("CONCLAVE_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "conclave"
    return Path(cache).expanduser() / "checkpoints" / "all-minilm-l6-v2"


def _device(options: argparse.Namespace) -> Device:
    if options.threads > 0:
        torch.set_num_threads(options.threads)
    cuda = torch.cuda.is_available()
    if options.device == "cuda" and not cuda:
        raise TrainingError("--device cuda: PyTorch sees no CUDA device")
    name = "cuda" if cuda and options.device != "cpu" else "cpu"
    fast = name == "cuda" or _matrix_unit()
    return Device(name, fast if options.bf16 is None else options.bf16)


def _matrix_unit() -> bool:
    """Whether the CPU multiplies bfloat16 matrices in hardware (AMX): a third of the time of float32 there."""
    supported = getattr(torch.cpu, "_is_amx_tile_supported", None)
    return supported is not None and bool(supported())


def _task(options: argparse.Namespace, stop: Stop, labels: Labels = "needed") -> dict[str, Any]:
    """The fields that all jobs have."""
    name = check_name(options.name)
    return {
        "name": name,
        "domains": _domains(options, name, labels),
        "base": _base(options),
        "out": options.out or Path("experts") / name,
        "run": options.run or Path("runs") / name,
        "base_name": options.base_name,
        "licence": options.licence,
        "device": _device(options),
        "fresh": options.fresh,
        "quiet": options.quiet,
        "stop": stop,
    }


def _expert(options: argparse.Namespace, stop: Stop) -> int:
    job = Job(
        **_task(options, stop, labels="used"),
        settings=from_options(ExpertSettings, options),
        ensemble=from_options(EnsembleSettings, options) if options.ensemble else None,
        weights=options.weights,
        template=options.template,
        pooling=options.pooling,
        normalise=options.normalise,
        representatives=options.representatives,
    )
    print(train_expert(job))
    return 0


def _late(options: argparse.Namespace, stop: Stop) -> int:
    print(
        train_late(
            LateJob(
                **_task(options, stop),
                settings=from_options(LateSettings, options),
                template=options.template,
                languages=tuple(options.language),
            )
        )
    )
    return 0


def _desire_me(options: argparse.Namespace, stop: Stop) -> int:
    compare = tuple(load(path, split=options.compare) for path in options.data) if options.compare else ()
    foreign = tuple(q.text for path in options.foreign for q in read_questions([path], set(), "ignored"))
    job = DesireMeJob(
        **_task(options, stop), settings=from_options(DesireMeSettings, options), compare=compare, foreign=foreign
    )
    print(train_desire_me(job))
    return 0


def _reader(options: argparse.Namespace, stop: Stop) -> int:
    print(train_reader(ReaderJob(**_task(options, stop), settings=from_options(ReaderSettings, options))))
    return 0


def _fid(options: argparse.Namespace, stop: Stop) -> int:
    if options.base is None:
        raise TrainingError("--base: the folder of a T5 is needed, with config.json, model.safetensors, tokenizer.json")
    print(train_fid(FidJob(**_task(options, stop), settings=from_options(FidSettings, options))))
    return 0


def _end_to_end(options: argparse.Namespace, stop: Stop) -> int:
    job = EndToEndJob(
        **_task(options, stop, labels="ignored"),
        settings=from_options(EndToEndSettings, options),
        reader=options.reader,
        template=options.template,
        collection=options.collection,
        url=options.url,
        program=options.conclave,
        ensemble=from_options(EnsembleSettings, options) if options.ensemble else None,
    )
    print(train_end_to_end(job))
    return 0


def _ensemble(options: argparse.Namespace, stop: Stop) -> int:
    if (options.bundle is None) == (not options.url) or bool(options.url) != bool(options.expert):
        raise TrainingError("give --bundle, or --url and --expert: the expert that the ensemble is for")
    domains = _domains(options, options.expert or options.bundle.name)
    if options.url:
        if options.foreign:
            raise TrainingError("--foreign: an ensemble for an expert of a server is calibrated by conclave calibrate")
        print(
            train_served_ensemble(
                ServedBy(Server(options.url, stop, options.quiet), options.expert),
                domains[0] if len(domains) == 1 else union("union", domains),
                from_options(EnsembleSettings, options),
                options.run or Path("runs") / f"{options.expert}-ensemble",
                options.out or Path(options.expert),
                options.hold_out,
                options.limit,
                options.pool,
                _device(options).name,
                options.fresh,
                options.quiet,
                stop,
            )
        )
        return 0
    path = train_ensemble(
        options.bundle,
        _base(options),
        domains[0] if len(domains) == 1 else union("union", domains),
        from_options(EnsembleSettings, options),
        options.run or Path("runs") / f"{options.bundle.resolve().name}-ensemble",
        options.out,
        options.hold_out,
        options.limit,
        options.pool,
        [load(path, split=options.split) for path in options.foreign],
        _device(options),
        options.fresh,
        options.quiet,
        stop,
    )
    print(path)
    return 0


def _export(options: argparse.Namespace, _: Stop) -> int:
    print(export(options.bundle, _base(options), options.out))
    return 0


def _verify(options: argparse.Namespace, _: Stop) -> int:
    for bundle in options.bundles:
        values = read_manifest(bundle)
        print(f"{bundle}: {values.get('name')}, {len(values['files'])} files agree with the manifest")
    return 0
