"""Damages, by chance but from a seed, each kind of file that the tools read, and watches what they do with it.

A tool may do its work or refuse, in one sentence and within a time and a memory; it may not end by a signal, hang, report an
internal error, or print what a terminal obeys. Checksums and ids are made to agree with the damage, so that it is met by what
reads the file and not by the checksum.
"""

import collections
import dataclasses
import hashlib
import json
import pathlib
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "pipeline/support"))

import gadget  # noqa: E402
import others_snapshots  # noqa: E402
from toolkit import ENVIRONMENT, command, record_again, succeed  # noqa: E402

SECONDS = 60  # limit for a run that takes 0.1 on a quiet machine
MEMORY = 2 << 30
EXITS = {0, 2, 3, 4, 5, 6, 75}
NUMBERS = [0, 1, 2, 7, 127, 255, 256, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53, 2**63 - 1, 2**63, 2**64 - 1]
WORDS = ["", "0", "-1", "1e999", "-1e-999", "nan", "NaN", "null", "true", "[]", "{}", '""', "1" * 400, "9223372036854775808", "0x10", "1,2",
         "\x1b[31m", "é", "\x00", "a" * 5000, "../../x", "/dev/zero", "[" * 300, '{"a":' * 300]
BOX, RANGES = ["--box", 64], ["--parameters", "omega_m=0.25:0.35"]


@dataclasses.dataclass
class Target:
    """A file that is damaged and the command that then reads it, in a copy of the workshop's directories `needs`."""
    name: str
    needs: tuple
    file: str
    words: tuple
    text: bool = False
    signed_in: str = ""   # directory whose manifest records size and sha256 of the file
    has_id: bool = False  # it is a manifest


def targets():
    infer = ("cosmo-infer", "--model", "model", "--input")
    train = ("--network", "small.json", "--epochs", 1, "--global-batch", 4, "--threads", 1)
    return [
        Target("manifest of a suite", ("sim",), "sim/manifest.json", ("cosmo-prep", "shard", "--input", "sim", "--output", "out"), True, has_id=True),
        Target("manifest of the output", ("sim",), "sim/manifest.json", ("cosmo-sim", "generate", "--config", "sim.ini", "--output", "sim"), True, has_id=True),
        Target("journal", ("begun",), "begun/journal.jsonl", ("cosmo-sim", "generate", "--config", "sim.ini", "--select", "0:1", "--output", "begun"), True),
        Target("counts", ("model",), "counts.h5", (*infer, "counts.h5")),
        Target("counts, inspected", (), "counts.h5", ("cosmo-sim", "inspect", "counts.h5")),
        Target("counts of a suite", ("sim",), "sim/sim-00001/counts_z0.h5", ("cosmo-prep", "shard", "--input", "sim", "--output", "out"), signed_in="sim"),
        Target("pack, inspected", (), "pack.h5", ("cosmo-sim", "inspect", "pack.h5", "--universe", 1)),
        Target("pack of a suite", ("packed",), "packed/packs/pack-00000.h5", ("cosmo-prep", "shard", "--input", "packed", "--output", "out"), signed_in="packed"),
        Target("universes of packs", ("packed",), "packed/universes.csv", ("cosmo-prep", "shard", "--input", "packed", "--output", "out"), True,
               signed_in="packed"),
        Target("field, inspected", (), "initial.h5", ("cosmo-sim", "inspect", "initial.h5")),
        Target("vector field, inspected", (), "velocity.h5", ("cosmo-sim", "inspect", "velocity.h5")),
        Target("classes, inspected", (), "web.h5", ("cosmo-sim", "inspect", "web.h5")),
        Target("snapshot", (), "snapshot.hdf5", ("cosmo-sim", "inspect", "snapshot.hdf5")),
        Target("snapshot, counted", (), "snapshot.hdf5", ("cosmo-prep", "histogram", "--input", "snapshot.hdf5", "--grid", 8, "--output", "out")),
        Target("snapshot of Gadget-4", (), "gadget.hdf5",
               ("cosmo-prep", "histogram", "--input", "gadget.hdf5", "--grid", 8, "--length-unit", "kpc/h", "--output", "out")),
        Target("binary snapshot", (), "binary", ("cosmo-prep", "histogram", "--input", "binary", "--grid", 8, "--length-unit", "Mpc/h", "--output", "out")),
        Target("binary snapshot, named blocks and masses", (), "named",
               ("cosmo-prep", "histogram", "--input", "named", "--grid", 8, "--length-unit", "Mpc/h", "--weights", "mass", "--output", "out")),
        Target("shard", ("data",), "data/train/shard-00000.h5", ("cosmo-prep", "verify", "data"), signed_in="data"),
        Target("shard, exported", ("data",), "data/train/shard-00000.h5",
               ("cosmo-prep", "export", "--format", "npy", "--input", "data", "--output", "out"), signed_in="data"),
        Target("shard, trained on", ("data",), "data/train/shard-00000.h5", ("cosmo-train", "--data", "data", *train, "--output", "out"), signed_in="data"),
        Target("shard with targets", ("pairs",), "pairs/train/shard-00000.h5", ("cosmo-prep", "verify", "pairs"), signed_in="pairs"),
        Target("initial field of a suite", ("fields",), "fields/sim-00001/initial_z0.h5",
               ("cosmo-prep", "shard", "--input", "fields", "--target", "initial", "--subvolumes", 1, "--output", "out"), signed_in="fields"),
        Target("classes of a suite", ("fields",), "fields/sim-00001/web_z0.h5",
               ("cosmo-prep", "shard", "--input", "fields", "--target", "web", "--subvolumes", 1, "--output", "out"), signed_in="fields"),
        Target("shard with classes", ("classes",), "classes/train/shard-00000.h5", ("cosmo-prep", "verify", "classes"), signed_in="classes"),
        Target("manifest of pairs", ("pairs",), "pairs/manifest.json", ("cosmo-prep", "verify", "pairs"), True, has_id=True),
        Target("manifest of a model of fields", ("pairs", "reconet"), "reconet/manifest.json",
               ("cosmo-infer", "--model", "reconet", "--data", "pairs", "--output", "out"), True, has_id=True),
        Target("posterior of modes, sampled", ("fields", "reconet"), "reconet/manifest.json",
               ("cosmo-infer", "--model", "reconet", "--input", "fields/sim-00001", "--white-noise", "out.npy"), True, has_id=True),
        Target("shard with classes, trained on", ("classes",), "classes/train/shard-00000.h5",
               ("cosmo-train", "--data", "classes", "--target", "web", "--epochs", 1, "--output", "out"), signed_in="classes"),
        Target("manifest of a model of classes", ("classes", "webnet"), "webnet/manifest.json",
               ("cosmo-infer", "--model", "webnet", "--data", "classes", "--output", "out"), True, has_id=True),
        Target("shard with targets, trained on", ("pairs",), "pairs/train/shard-00000.h5",
               ("cosmo-train", "--data", "pairs", "--target", "initial", "--reconstruct", 10, "--epochs", 1, "--output", "out"), signed_in="pairs"),
        Target("manifest of a dataset", ("data",), "data/manifest.json", ("cosmo-prep", "describe", "data"), True, has_id=True),
        Target("manifest of a model", ("model",), "model/manifest.json", (*infer, "counts.h5"), True, has_id=True),
        Target("checkpoint", ("model",), "model/checkpoints/epoch-000001.h5", (*infer, "counts.h5"), signed_in="model"),
        Target("checkpoint, continued", ("data", "model"), "model/checkpoints/epoch-000001.h5",
               ("cosmo-train", "--data", "data", *train[:2], "--epochs", 2, *train[4:], "--resume", "--output", "model"), signed_in="model"),
        Target("checkpoint, exported", ("model",), "model/checkpoints/epoch-000001.h5",
               ("cosmo-infer", "export", "--model", "model", "--output", "out.onnx"), signed_in="model"),
        Target("regression of a model", ("model", "data"), "model/baseline.h5",
               ("cosmo-infer", "--model", "model", "--data", "data", "--output", "out"), signed_in="model"),
        Target("baselines of a model", ("model", "data"), "model/baselines.h5",
               ("cosmo-infer", "--model", "model", "--data", "data", "--output", "out"), signed_in="model"),
        Target("npy counts", ("model",), "counts.npy", (*infer, "counts.npy", *BOX)),
        Target("npy export", ("npy",), "npy/train/shard-00000_00000.npy", ("cosmo-prep", "import", "--format", "npy", "--input", "npy", "--output", "out"),
               signed_in="npy"),
        Target("TFRecord of mlperf", ("tfrecord",), "tfrecord/train.tfrecord",
               ("cosmo-prep", "import", "--format", "tfrecord", "--input", "tfrecord", "--samples", "records.csv", *BOX, *RANGES, "--output", "out")),
        Target("TFRecord of cosmoflow", ("cosmoflow",), "cosmoflow/train.tfrecord",
               ("cosmo-prep", "import", "--format", "tfrecord", "--dialect", "cosmoflow", "--input", "cosmoflow", "--samples", "records.csv", *BOX, *RANGES,
                "--output", "out")),
        Target("table of samples", ("npy",), "npy/samples.csv",
               ("cosmo-prep", "import", "--format", "npy", "--input", "npy", "--samples", "npy/samples.csv", *BOX, *RANGES, "--output", "out"), True),
        Target("table of snapshots", (), "snapshots.csv", ("cosmo-prep", "histogram", "--input", "snapshots.csv", "--grid", 8, "--output", "out"), True),
        Target("transfer function", (), "transfer.dat",
               ("cosmo-sim", "generate", "--transfer", "transfer.dat", "--particles", 16, "--box", 64, "--dry-run", "--output", "out"), True),
        Target("white noise", (), "noise", ("cosmo-sim", "generate", "--white-noise", "noise", "--particles", 8, "--box", 64, "--dry-run", "--output", "out")),
        Target("white noise, npy", (), "noise.npy",
               ("cosmo-sim", "generate", "--white-noise", "noise.npy", "--particles", 8, "--box", 64, "--dry-run", "--output", "out")),
        Target("design", (), "design.csv", ("cosmo-sim", "generate", "--design", "design.csv", "--particles", 16, "--box", 64, "--dry-run", "--output", "out"), True),
        Target("options", (), "sim.ini", ("cosmo-sim", "generate", "--config", "sim.ini", "--dry-run", "--output", "out"), True),
        Target("network", ("data",), "small.json", ("cosmo-train", "--data", "data", *train, "--dry-run", "--output", "out"), True),
    ]


NETWORK = {"name": "small", "input": "voxels", "baseline": "summary_statistics", "layers": [
    {"name": "conv", "kind": "convolution", "inputs": ["voxels"], "outputs": 16, "kernel": 3, "stride": 2, "padding": 1, "slope": 0.01},
    {"name": "pool", "kind": "average_pool", "inputs": ["conv"], "size": 2, "stride": 2},
    {"name": "mean", "kind": "global_mean", "inputs": ["pool"], "squares": False},
    {"name": "normal", "kind": "normalise", "inputs": ["mean"]},
    {"name": "last", "kind": "dense", "inputs": ["normal"], "outputs": 0, "slope": 1.0}]}
SIMULATION = "simulations = 6\nparticles = 16\ngrid = 16\nbox = 64\nsteps = 2\nomega-m = 0.25:0.35\n"


class Workshop:
    """Sound files of every kind, made once, copied for every run."""

    def __init__(self, directory):
        self.root = pathlib.Path(directory)
        at = lambda name: self.root / name
        at("sim.ini").write_text(SIMULATION)
        at("small.json").write_text(json.dumps(NETWORK))
        run = lambda *words: succeed(*words, cwd=self.root)
        run("cosmo-sim", "generate", "--config", "sim.ini", "--output", "sim")
        run("cosmo-sim", "generate", "--config", "sim.ini", "--select", "0:1", "--output", "begun")
        run("cosmo-sim", "generate", "--config", "sim.ini", "--pack", 4, "--output", "packed")
        run("cosmo-sim", "generate", "--particles", 16, "--box", 64, "--steps", 2, "--save", "particles", "--output", "particles")
        for name in ("noise", "noise.npy"):
            run("cosmo-sim", "noise", "--seed", 1, "--particles", 8, "--output", name)
        snapshot, = at("particles").glob("sim-00000/*.hdf5")
        shutil.copy(snapshot, at("snapshot.hdf5"))
        shutil.copy(at("sim/sim-00000/counts_z0.h5"), at("counts.h5"))
        run("cosmo-sim", "generate", "--simulations", 3, "--sigma8", "0.7:0.9", "--particles", 8, "--grid", 8, "--box", 64, "--steps", 1, "--save", "counts,initial,velocity,web", "--web", "6:0",
            "--output", "fields")
        run("cosmo-prep", "shard", "--input", "fields", "--target", "initial", "--subvolumes", 1, "--output", "pairs")
        run("cosmo-prep", "shard", "--input", "fields", "--target", "web", "--subvolumes", 1, "--output", "classes")
        run("cosmo-train", "--data", "classes", "--target", "web", "--tides", 8, "--epochs", 1, "--output", "webnet")
        run("cosmo-train", "--data", "pairs", "--target", "initial", "--reconstruct", 10, "--epochs", 1, "--output", "reconet")
        for name in ("initial", "velocity", "web"):
            shutil.copy(at(f"fields/sim-00000/{name}_z0.h5"), at(f"{name}.h5"))
        shutil.copy(at("packed/packs/pack-00000.h5"), at("pack.h5"))
        path, = gadget.write_gadget4(at("foreign"), gadget.example_positions("f4"), 1)
        shutil.move(path, at("gadget.hdf5"))
        positions = others_snapshots.moved_lattice()
        others_snapshots.binary(at("binary"), {1: positions}, masses=(0, 1, 0, 0, 0, 0))
        others_snapshots.binary(at("named"), {1: positions}, order=">", named=True, own_masses=np.linspace(1, 2, len(positions)))
        run("cosmo-prep", "shard", "--input", "sim", "--subvolumes", 1, "--output", "data")
        run("cosmo-train", "--data", "data", "--network", "small.json", "--epochs", 1, "--global-batch", 4, "--output", "model")
        for name, words in (("npy", ("npy",)), ("mlperf", ("tfrecord",)), ("cosmoflow-all", ("tfrecord", "--dialect", "cosmoflow"))):
            run("cosmo-prep", "export", "--format", *words, "--input", "data", "--output", name)
        for source, folder in (("mlperf", "tfrecord"), ("cosmoflow-all", "cosmoflow")):
            at(folder).mkdir()
            for split in ("train", "validation", "test"):
                shutil.copy(next(at(source).glob(f"{split}/*.tfrecord")), at(folder) / f"{split}.tfrecord")
        shutil.copy(next(at("npy").glob("train/*.npy")), at("counts.npy"))
        at("records.csv").write_text("file,split,simulation,seed,omega_m\n" + "".join(
            f"{split}.tfrecord,{split},{i},{i + 1},0.{26 + i}\n" for i, split in enumerate(("train", "validation", "test"))))
        at("snapshots.csv").write_text("snapshot,simulation\nsnapshot.hdf5,0\n")
        at("design.csv").write_text("omega_m,sigma8,seed\n0.3,0.8,1\n0.31,0.85,2\n")
        at("transfer.dat").write_text("# k [h/Mpc]  P\n" + "".join(f"{10**(k / 10):.6e} {1e4 * 10**(-abs(k) / 10):.6e}\n" for k in range(-40, 20)))

    def copy(self, target, directory):
        for name in {*target.needs, "sim.ini", "small.json", "counts.h5", "records.csv", pathlib.Path(target.file).parts[0],
                     "snapshot.hdf5"}:
            source = self.root / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, directory / name)


def damaged_bytes(content, chance):
    content = bytearray(content)
    for _ in range(chance.choice((1, 1, 1, 2, 5))):
        at = chance.randrange(len(content)) if chance.random() < 0.5 else chance.randrange(min(len(content), 8192))
        match chance.randrange(7):
            case 0:
                content[at] ^= 1 << chance.randrange(8)
            case 1:
                content[at] = chance.randrange(256)
            case 2:
                width = chance.choice((2, 4, 8))
                content[at:at + width] = (chance.choice(NUMBERS) % 256**width).to_bytes(width, "little")
            case 3:
                del content[at:at + chance.choice((1, 8, 100))]
            case 4:
                content[at:at] = content[chance.randrange(len(content)):][:chance.choice((1, 8, 512))]
            case 5:
                del content[at:]
            case 6:
                content[at:at + chance.choice((4, 16, 64))] = bytes(chance.choice((4, 16, 64)))
        if not content:
            break
    return bytes(content)


def damaged_text(content, chance):
    text = content.decode()
    if chance.random() < 0.2:
        return damaged_bytes(content, chance)
    for _ in range(chance.choice((1, 1, 2, 4))):
        tokens = list(re.finditer(r"[-+.\w]+|\"[^\"]*\"", text))
        token = chance.choice(tokens) if tokens else None
        lines = text.splitlines(keepends=True)
        match chance.randrange(5) if token else 4:
            case 0 | 1:
                text = text[:token.start()] + chance.choice([*WORDS, *map(str, NUMBERS)]) + text[token.end():]
            case 2:
                text = text[:token.start()] + text[token.end():]
            case 3:
                text = text[:token.start()] + chance.choice(tokens)[0] + text[token.end():]
            case 4 if lines:
                line = chance.randrange(len(lines))
                lines[line:line + 1] = chance.choice(([], [lines[line]] * 2, [chance.choice(lines)]))
                text = "".join(lines)
    return text.encode()


def sign(target, directory):
    """Makes checksum or id agree with the damage, where that can be done."""
    if target.signed_in:
        record_again(directory / target.signed_in, directory / target.file)
    if target.has_id:
        path = directory / target.file
        try:
            manifest = json.loads(path.read_text())
            canonical = {"schema": manifest["schema"], "stage": manifest["stage"], "config": manifest["config"],
                         "inputs": [record["id"] for record in manifest["inputs"]]}
            text = json.dumps(canonical, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
            manifest["id"] = "sha256:" + hashlib.sha256(text.encode()).hexdigest()
            path.write_text(json.dumps(manifest))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass  # it is not a manifest any more


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def complaint(code, remarks):
    """What is wrong with how a tool ended, or nothing."""
    if code not in EXITS:
        return f"exit {code}"
    errors = [line for line in remarks.splitlines() if ": error: " in line]
    if code not in (0, 75) and len(errors) != 1:
        return f"exit {code} with {len(errors)} sentences"
    if re.search(r"[\x00-\x08\x0b-\x1f\x7f]", remarks):
        return "prints what a terminal obeys"
    return ""


def by_chance(target, seed):
    """A function from a file's bytes to damaged ones."""
    chance = random.Random(f"{target.name} {seed}")
    return lambda content: (damaged_text if target.text else damaged_bytes)(content, chance)


def attack(workshop, target, damage):
    """Damages a target's file, if `damage` is given, and runs its command; returns (exit code, what is wrong, standard error)."""
    with tempfile.TemporaryDirectory(prefix="cosmo-fuzz-") as holder:
        directory = pathlib.Path(holder)
        workshop.copy(target, directory)
        path = directory / target.file
        if damage:
            path.write_bytes(damage(path.read_bytes()))
        sign(target, directory)
        try:
            done = subprocess.run(command(1, *target.words), env=ENVIRONMENT, capture_output=True, cwd=directory, preexec_fn=limit, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return None, "hangs", ""
        remarks = done.stderr.decode(errors="surrogateescape")
        return done.returncode, complaint(done.returncode, remarks), remarks


def campaign(workshop, runs, report, first=0, names=None):
    """Runs every target `runs` times; returns {target: {exit code: runs}} and what went wrong, one line each."""
    table, wrong = {}, []
    for target in targets():
        if names and target.name not in names:
            continue
        table[target.name] = collections.Counter()
        for seed in range(first, first + runs):
            code, why, remarks = attack(workshop, target, by_chance(target, seed))
            table[target.name][code] += 1
            if why:
                wrong.append(f"{target.name} {seed}: {why}: {remarks[:300]}")
                report(wrong[-1])
        report(f"{target.name}: " + ", ".join(f"{n} × {code}" for code, n in sorted(table[target.name].items(), key=str)))
    return table, wrong


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    with tempfile.TemporaryDirectory(prefix="cosmo-workshop-") as holder:
        _, wrong = campaign(Workshop(holder), runs, lambda line: print(line, flush=True), first=int(sys.argv[2]) if len(sys.argv) > 2 else 0,
                            names=sys.argv[3:])
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
