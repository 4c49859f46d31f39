"""Replaces what a stage reads, at each of its reads, by another sound file: by a rename, and by writing into it.

The stage is stopped in the read. Then the file that it is reading, or all of its input, becomes that of another run, and it goes
on. It may refuse with one sentence; what it writes with exit code 0 must be made of the old input alone, or of the new.

Usage: replacements.py [MOST [STAGE ...]]   (at most this many reads of each stage, spread evenly; all reads of all stages)
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "pipeline/support"))

import operations  # noqa: E402
from eisenstein_hu import write_power  # noqa: E402
from toolkit import ENVIRONMENT, command_with_faults, run, run_with_faults, succeed  # noqa: E402

WAYS = ("rename", "in place")
WHAT = ("file", "input")
OLD, NEW = 1, 2  # seeds
REFUSED = (3, 4, 5)
BOX = ("--box", 64)
ONE_UNIVERSE = ("generate", *BOX, "--particles", 16, "--steps", 2)


class Stages:
    """The stages, and what each reads, in a directory of their own."""

    def __init__(self, directory, seed):
        chain = operations.Chain(directory, seed)
        self.root, self.out = chain.root, chain.root / "out"
        at = lambda name: str(self.root / name)
        model, data = ("--model", at("train")), ("--data", at("data"))
        self.make_inputs(seed)
        self.make_posteriors(seed, [*chain.stages["train"][0]])
        training = [*chain.stages["train"][0]]
        going_on = [*training, "--resume"]
        going_on[going_on.index("--epochs") + 1] = 3
        importing = ("cosmo-prep", "import", "--format", "npy", "--input", at("arrays"), "--samples", at("arrays.csv"), *BOX)
        self.reads = {  # name: (words, the input that is replaced)
            "shard": (chain.stages["shard"][0], "sim"),
            "shard packs": (("cosmo-prep", "shard", "--input", at("packs"), "--samples-per-shard", 4), "packs"),
            "shard a dataset": (("cosmo-prep", "shard", "--input", at("data") + "," + at("packs")), "data"),
            "train": (training, "data"),
            "begin": ((*training, "--init-from", at("train")), "train"),
            "go on": (going_on, "out"),
            "posterior": (("cosmo-train", "--posterior-only", "--model", at("first") + "," + at("second"), "--data", at("many")), "first"),
            "infer a posterior": (("cosmo-infer", "--model", at("first"), "--data", at("many")), "first"),
            "infer": (chain.stages["infer"][0], "train"),
            "infer a split": (chain.stages["infer"][0], "data"),
            "predict": (chain.stages["predict"][0], "train"),
            "predict a suite": (chain.stages["predict"][0], "sim"),
            "predict packs": (("cosmo-infer", *model, "--input", at("packs")), "packs"),
            "predict a snapshot": (("cosmo-infer", *model, "--input", at("snapshot.hdf5")), "snapshot.hdf5"),
            "onnx": (chain.stages["onnx"][0], "train"),
            "npy": (chain.stages["npy"][0], "data"),
            "again": (chain.stages["again"][0], "npy"),
            "import": (importing, "arrays"),
            "import a table": (importing, "arrays.csv"),
            "histogram": (chain.stages["histogram"][0], "snapshot.hdf5"),
            "histogram of a table": (("cosmo-prep", "histogram", "--input", at("snapshots.csv"), "--grid", 8), "snapshots"),
            "spectrum": (("cosmo-sim", *ONE_UNIVERSE, "--transfer", at("spectrum.txt")), "spectrum.txt"),
            "noise": (("cosmo-sim", *ONE_UNIVERSE, "--white-noise", at("noise.npy")), "noise.npy"),
        }

    def make_inputs(self, seed):
        """Inputs of stages that the chain does not have."""
        random = np.random.default_rng(seed)
        succeed("cosmo-sim", *operations.SIM, "--seed", 50 + seed, "--pack", 2, "--output", self.root / "packs")
        succeed("cosmo-sim", "noise", "--seed", seed, "--particles", 16, "--output", self.root / "noise.npy")
        (self.root / "arrays").mkdir()
        (self.root / "snapshots").mkdir()
        rows, snapshots = ["file,simulation,split,omega_m"], ["snapshot,omega_m"]
        for number, split in enumerate(("train", "train", "validation", "test")):
            np.save(self.root / f"arrays/{number}.npy", random.poisson(1, (8, 8, 8)).astype(np.uint16))
            rows.append(f"{number}.npy,{number},{split},{random.uniform(.25, .35):.3f}")
        for number in range(2):
            made = self.root / f"particles-{number}"
            succeed("cosmo-sim", *ONE_UNIVERSE, "--save", "particles", "--seed", 10 * seed + number, "--omega-m", 0.3 + 0.01 * number,
                    "--output", made)
            shutil.copy(next(made.glob("sim-00000/*.hdf5")), self.root / f"snapshots/{number}.hdf5")
            snapshots.append(f"snapshots/{number}.hdf5,{0.3 + 0.01 * number}")
        (self.root / "arrays.csv").write_text("\n".join(rows) + "\n")
        (self.root / "snapshots.csv").write_text("\n".join(snapshots) + "\n")
        write_power(self.root / "spectrum.txt", n_s=0.96 + 0.01 * seed)

    def make_posteriors(self, seed, training):
        """Two models with posteriors, which take some universes."""
        suite, data = self.root / "many-universes", self.root / "many"
        succeed("cosmo-sim", "generate", *operations.SIM[3:], "--simulations", 40, "--seed", 100 * seed, "--pack", 40, "--output", suite)
        succeed("cosmo-prep", "shard", "--input", suite, "--validation", 8, "--test", 4, "--output", data)
        training[training.index("--data") + 1] = data
        for number, model in enumerate(("first", "second")):
            succeed(*training, "--seed", number, "--output", self.root / model)

    def begin(self, stage):
        """What is in --output before the stage."""
        shutil.rmtree(self.out, ignore_errors=True)
        if stage == "go on":
            shutil.copytree(self.root / "train", self.out)

    def files(self):
        return operations.files_of(self.out)


    def run(self, stage):
        """An unbroken run; returns what it wrote."""
        self.begin(stage)
        succeed(*self.reads[stage][0], "--output", self.out)
        return self.files()

    def files(self):
        return operations.files_of(self.out)


def files_at(path):
    return [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())


def replace(old, new, way):
    """Gives the file `old` the content of `new`, as other programs do."""
    if way == "rename":
        part = old.with_name(old.name + ".coming")
        shutil.copyfile(new, part)
        part.rename(old)
        return
    data = new.read_bytes()
    with open(old, "r+b") as file:
        file.write(data)
        file.truncate(len(data))


def stopped_process(named):
    """(The process that is stopped, what it reads), if it is; a stage may let another process look at a file first."""
    if not named.exists() or not (words := named.read_text()):
        return None
    process, path = words.split(" ", 1)
    try:
        state = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return None  # it has ended
    return (int(process), pathlib.Path(path)) if state == "T" else None


class Attack:
    """One stage. Its input is put back before each run."""

    def __init__(self, old, new, stage):
        self.old, self.stage = old, stage
        words, name = old.reads[stage]
        self.words, self.place = words, old.root / name
        self.counted = {"KILL_UNDER": f"{self.place}/" if self.place.is_dir() else self.place, "READS": 1}
        # The same paths, so that what is written can be compared: the new input is brought there.
        self.right = [old.run(stage)]
        old.begin(stage)
        self.kept, self.other = old.root / "kept", old.root / "other"
        for copy, source in ((self.kept, self.place), (self.other, new.root / name)):
            shutil.rmtree(copy, ignore_errors=True)
            copy.unlink(missing_ok=True) if copy.is_file() else None
            if stage == "go on":
                source = source if copy == self.kept else new.root / "train"
            shutil.copytree(source, copy) if source.is_dir() else shutil.copy(source, copy)
        if stage != "go on":
            self.put(self.other)
            self.right.append(self.complete_run())
        self.put(self.kept)
        self.reads = self.count()

    def put(self, source):
        """Makes a directory or a file the input."""
        if self.place.is_dir():
            shutil.rmtree(self.place)
        shutil.copytree(source, self.place) if source.is_dir() else shutil.copy(source, self.place)

    def complete_run(self):
        """What the stage writes from the other input; nothing if that does not go with its other inputs."""
        if self.stage != "go on":
            shutil.rmtree(self.old.out, ignore_errors=True)
        done = run(*self.words, "--output", self.old.out)
        return self.old.files() if done.returncode == 0 else {}

    def prepare(self):
        self.put(self.kept)
        if self.stage != "go on":
            shutil.rmtree(self.old.out, ignore_errors=True)

    def count(self):
        self.prepare()
        count = self.old.root / "count"
        count.unlink(missing_ok=True)
        done = run_with_faults({**self.counted, "KILL_COUNT": count}, *self.words, "--output", self.old.out)
        assert done.returncode == 0, done.stderr
        return int(count.read_text())

    def replace(self, file, way):
        """Replaces one file of the input, or all."""
        for old in [file] if file else files_at(self.place):
            new = self.other / old.relative_to(self.place) if self.place.is_dir() else self.other
            if new.exists() and old.exists():
                replace(old, new, way)

    def mixed(self, file, way):
        """What the stage writes if one file was replaced before: files without a manifest need not be of one run."""
        self.prepare()
        self.replace(file, way)
        return self.complete_run()

    def stated(self, other):
        """Whether all that differs is what the report states of the inputs' later fate."""
        return set(other) == {"report.html", "manifest.json"} and any(
            words in (self.old.out / "report.html").read_text() for words in ("cannot be read any more", "written again since"))

    def replaced_at(self, read, what, way):
        """Returns the exit code, and what is wrong."""
        self.prepare()
        named = self.old.root / "named"
        named.unlink(missing_ok=True)
        faults = {**self.counted, "KILL_AT": read, "KILL_SIGNAL": int(signal.SIGSTOP), "KILL_PATH": named}
        words = command_with_faults(faults, 1, *self.words, "--output", self.old.out)
        remarks_file, stopped = self.old.root / "remarks", None
        with open(remarks_file, "w") as remarks:
            process = subprocess.Popen(words, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=remarks)
        while process.poll() is None:
            time.sleep(0.001)
            if not (found := stopped_process(named)):
                continue
            if not stopped:  # where another process looks at a file first, both are stopped
                stopped = found[1]
                self.replace(stopped if what == "file" else None, way)
            os.kill(found[0], signal.SIGCONT)
        if not stopped:
            return process.returncode, "it did not stop"
        if process.returncode == 0:
            files = self.old.files()
            other = [str(path) for path in {**files, **self.right[0]} if files.get(path) != self.right[0].get(path)]
            if files in self.right or self.stated(other) or (what == "file" and files == self.mixed(stopped, way)):
                return 0, ""
            return 0, f"exit code 0, but other files at {stopped.name}: {other}"
        remarks = remarks_file.read_text()
        errors = [line for line in remarks.splitlines() if ": error: " in line]
        good = process.returncode in REFUSED and len(errors) == 1
        return process.returncode, "" if good else f"exit {process.returncode}: {remarks[-300:]}"


def campaign(directory, most, report, stages=None):
    """Returns the number of replacements and what went wrong."""
    root = pathlib.Path(directory)
    old, new = Stages(root / "old", OLD), Stages(root / "new", NEW)
    number, wrong = 0, []
    for stage in stages or old.reads:
        attack = Attack(old, new, stage)
        total, codes = attack.reads, {}
        for read in sorted({1 + total * i // most for i in range(most)}) if most < total else range(1, total + 1):
            for what in WHAT[:1] if stage == "go on" else WHAT:  # its input is its output
                for way in WAYS:
                    code, why = attack.replaced_at(read, what, way)
                    number += 1
                    codes[code] = codes.get(code, 0) + 1
                    if why:
                        wrong.append(f"{stage}, read {read} of {total}, {what} {way}: {why}")
                        report(wrong[-1])
        attack.put(attack.kept)
        report(f"{stage}: {total} reads: " + ", ".join(f"{times} × exit {code}" for code, times in codes.items()))
    return number, wrong


def main():
    with tempfile.TemporaryDirectory(prefix="cosmo-chain-") as holder:
        most = int(sys.argv[1]) if len(sys.argv) > 1 else 10**6
        number, wrong = campaign(holder, most, lambda line: print(line, flush=True), sys.argv[2:])
    print(f"{number} replacements, {len(wrong)} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
