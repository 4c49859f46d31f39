"""Lets each file operation of each stage fail, one at a time, in each way: with EIO, ENOSPC, EINTR, by half, by a kill.

The tool may do its work all the same or end with one sentence and exit code 4 (5 where it cannot read what it needs). The same
command without a fault then has to give every file of an unbroken run.
"""

import errno
import json
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "pipeline/support"))

from toolkit import KILLED, contents, run, run_with_faults, succeed  # noqa: E402

SIM = ("generate", "--simulations", 4, "--omega-m", "0.25:0.35", "--box", 64, "--particles", 16, "--steps", 2)
NETWORK = {"name": "small", "input": "voxels", "baseline": "summary_statistics", "layers": [
    {"name": "conv", "inputs": ["voxels"], "kind": "convolution", "outputs": 16, "kernel": 3, "stride": 1, "padding": 0, "slope": 0.01},
    {"name": "last", "inputs": ["conv"], "kind": "dense", "outputs": 0, "slope": 1}]}
WAYS = {"EIO": str(errno.EIO), "ENOSPC": str(errno.ENOSPC), "EINTR": str(errno.EINTR), "short": "short", "kill": ""}


TOGETHER = {"together, rank 0": 0, "together, rank 1": 1}  # stages of two ranks, in one of which an operation fails


def files_of(directory):
    """The files that a run wrote, without those that MPI-IO wrote for itself and could not remove."""
    return {path: data for path, data in contents(directory).items() if ".locktest." not in str(path)}


def ranks_of(stage):
    return 2 if stage in TOGETHER else 1


class Chain:
    """The stages, each from sound inputs."""

    def __init__(self, directory, seed=1):
        self.root = pathlib.Path(directory)
        self.root.mkdir(exist_ok=True)
        at = lambda name: str(self.root / name)
        (self.root / "small.json").write_text(json.dumps(NETWORK))
        data = ("--data", at("data"))
        self.stages = {  # name: (words, where they read)
            "sim": (("cosmo-sim", *SIM, "--seed", seed), "//"),
            "shard": (("cosmo-prep", "shard", "--input", at("sim"), "--samples-per-shard", 4), at("sim")),
            "train": (("cosmo-train", *data, "--network", at("small.json"), "--global-batch", 8, "--threads", 1, "--epochs", 2,
                       "--checkpoint-minutes", 0), at("data")),
            "infer": (("cosmo-infer", *data, "--model", at("train")), at("train")),
            "predict": (("cosmo-infer", "--model", at("train"), "--input", at("sim")), at("train")),
            "onnx": (("cosmo-infer", "export", "--model", at("train")), at("train")),
            "npy": (("cosmo-prep", "export", "--format", "npy", "--input", at("data")), at("data")),
            "again": (("cosmo-prep", "import", "--format", "npy", "--input", at("npy")), at("npy")),
            "tfrecord": (("cosmo-prep", "export", "--format", "tfrecord", "--input", at("data")), at("data")),
            "histogram": (("cosmo-prep", "histogram", "--input", at("snapshot.hdf5"), "--grid", 8), at("snapshot.hdf5")),
        }
        for name in TOGETHER:
            self.stages[name] = (("cosmo-sim", "generate", "--box", 64, "--particles", 16, "--steps", 2, "--save", "counts,particles",
                                  "--ranks-per-simulation", 2), "//")
        succeed("cosmo-sim", "generate", "--particles", 16, "--box", 64, "--steps", 2, "--save", "particles", "--seed", seed,
                "--output", at("particles"))
        shutil.copy(next((self.root / "particles").glob("sim-00000/*.hdf5")), at("snapshot.hdf5"))
        self.whole = {}
        for name, (words, _) in self.stages.items():
            output = self.root / ("data" if name == "shard" else name)
            succeed(*words, "--output", output, ranks=ranks_of(name))
            self.whole[name] = files_of(output)

    def place(self, stage, reads):
        """Which operations count."""
        faults = {"KILL_UNDER": self.stages[stage][1] if reads else self.root / "out"}
        if reads:
            faults["READS"] = 1
        if stage in TOGETHER:
            faults["FAULT_RANK"] = TOGETHER[stage]
        return faults

    def count(self, stage, reads):
        """The number of operations of a whole run."""
        out, count = self.root / "out", self.root / "count"
        shutil.rmtree(out, ignore_errors=True)
        count.unlink(missing_ok=True)
        words, _ = self.stages[stage]
        done = run_with_faults({**self.place(stage, reads), "KILL_COUNT": count}, *words, "--output", out, ranks=ranks_of(stage))
        assert done.returncode == 0, done.stderr
        return int(count.read_text()) if count.exists() else 0

    def attack(self, stage, at, way, reads):
        """Lets an operation fail, then runs the stage again; returns (exit code, what is wrong)."""
        out = self.root / "out"
        shutil.rmtree(out, ignore_errors=True)
        words, ranks = self.stages[stage][0], ranks_of(stage)
        faults = {**self.place(stage, reads), "KILL_AT": at}
        if WAYS[way]:
            faults["FAIL"] = WAYS[way]
        done = run_with_faults(faults, *words, "--output", out, ranks=ranks)
        wrong = self.complaint(done, way, reads)
        again = run(*words, "--output", out, ranks=ranks)
        if again.returncode != 0:
            wrong += f" rerun: exit {again.returncode}: {again.stderr[-300:]}"
        elif files_of(out) != self.whole[stage]:
            wrong += " rerun: other files"
        return done.returncode, wrong

    @staticmethod
    def complaint(done, way, reads):
        if way == "kill":
            return "" if done.returncode in KILLED else f"exit {done.returncode} after a kill"
        if done.returncode == 0:
            return ""
        errors = [line for line in done.stderr.splitlines() if ": error: " in line]
        good = done.returncode in ((4, 5) if reads else (4,)) and len(errors) == 1
        return "" if good else f"exit {done.returncode}: {done.stderr[-300:]}"


def campaign(chain, most, report, stages=None):
    """Lets at most `most` operations of each stage fail in each way, spread evenly; returns the number of faults and what went wrong."""
    faults, wrong = 0, []
    for stage in stages or chain.stages:
        for reads in (False, True):
            total = chain.count(stage, reads)
            codes = {}
            for way in WAYS:
                if reads and way in ("ENOSPC", "kill"):
                    continue
                for at in sorted({1 + total * i // most for i in range(most)}) if most < total else range(1, total + 1):
                    code, why = chain.attack(stage, at, way, reads)
                    faults += 1
                    codes[way, code] = codes.get((way, code), 0) + 1
                    if why:
                        wrong.append(f"{stage}, {'read' if reads else 'change'} {at} of {total}, {way}: {why}")
                        report(wrong[-1])
            report(f"{stage}: {total} {'reads' if reads else 'changes'}: "
                   + ", ".join(f"{way} {number} × {code}" for (way, code), number in codes.items()))
    return faults, wrong


def main():
    with tempfile.TemporaryDirectory(prefix="cosmo-chain-") as holder:
        faults, wrong = campaign(Chain(holder), int(sys.argv[1]) if len(sys.argv) > 1 else 3, lambda line: print(line, flush=True), sys.argv[2:])
    print(f"{faults} faults, {len(wrong)} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
