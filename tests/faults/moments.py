"""Events at any moment of a run: signals, ranks that are lost or late, a second run into the same directory.

The run may end with one sentence. Then the same command has to give every file of an unbroken run.

Usage: moments.py SIGNALS RANKS RACES   (how many of each)
"""

import contextlib
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "pipeline/support"))

import operations  # noqa: E402
from toolkit import ENVIRONMENT, KILLED, STOPPED, children, command, run, succeed  # noqa: E402

SIGNALS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT)
GOES_ON = ("sim", "shard", "train", "npy", "again", "tfrecord")  # stages that save what they have when a signal comes
ALONE = (*GOES_ON, "infer", "onnx", "histogram")
ON_RANKS = ("sim", "together, rank 0", "shard", "train", "npy")
FAULTS = ("killed", "stopped", "late")  # ranks
SILENCE = 3  # [s] after which a stopped rank is lost
IO = 4


def remembers(process, number):
    """Whether a process has a handler for a signal, as all tools have from the first line of main()."""
    try:
        caught = re.search(r"(?m)^SigCgt:\s*(\w+)", pathlib.Path(f"/proc/{process.pid}/status").read_text())
    except OSError:
        return False
    return caught and int(caught[1], 16) >> (number - 1) & 1


def errors_of(remarks):
    return [line for line in remarks.splitlines() if ": error: " in line]


class Life:
    """Runs of the stages that are disturbed."""

    def __init__(self, chain, seed=1):
        self.chain, self.chance = chain, random.Random(seed)
        self.out = chain.root / "out"
        self.known = {}  # (stage, ranks): (seconds, files) of an unbroken run

    def unbroken(self, stage, ranks):
        if (stage, ranks) not in self.known:
            shutil.rmtree(self.out, ignore_errors=True)
            begin = time.monotonic()
            succeed(*self.chain.stages[stage][0], "--output", self.out, ranks=ranks)
            self.known[stage, ranks] = time.monotonic() - begin, operations.files_of(self.out)
        return self.known[stage, ranks]

    def start(self, stage, ranks=1, *more):
        words = command(ranks, *self.chain.stages[stage][0], *more, "--output", self.out)
        return subprocess.Popen(words, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def moment(self, stage, ranks):
        return self.chance.uniform(0, self.unbroken(stage, ranks)[0])

    def left(self, stage, ranks, begin_again):
        """What is wrong with the files, of the same command again if need be."""
        if begin_again:
            again = run(*self.chain.stages[stage][0], "--output", self.out, ranks=ranks)
            if again.returncode != 0:
                return f" rerun: exit {again.returncode}: {again.stderr[-300:]}"
        return "" if operations.files_of(self.out) == self.unbroken(stage, ranks)[1] else " other files"

    def signalled(self, stage, number, part):
        """Sends a signal after this part of the run's time; returns how it ended and what is wrong."""
        delay = part * self.unbroken(stage, 1)[0]
        shutil.rmtree(self.out, ignore_errors=True)
        process = self.start(stage)
        while process.poll() is None and not remembers(process, number):
            time.sleep(0.001)
        time.sleep(delay)
        process.send_signal(number)
        remarks = process.communicate(timeout=120)[1]
        wrong = "" if process.returncode in (0, STOPPED) and not errors_of(remarks) else remarks[-300:] or "no word"
        return f"exit {process.returncode}", wrong + self.left(stage, 1, True)

    def rank_fault(self, stage, fault):
        """Two ranks, one of which is killed, stopped for good or for a while; returns how it ended and what is wrong."""
        delay = self.moment(stage, 2)
        shutil.rmtree(self.out, ignore_errors=True)
        process = self.start(stage, 2, "--peer-timeout", SILENCE / 60)
        while process.poll() is None and len(children(process.pid)) < 2:
            time.sleep(0.001)
        time.sleep(delay)
        hit = process.poll() is None and self.chance.choice(children(process.pid) or [None])
        if hit:
            os.kill(hit, signal.SIGKILL if fault == "killed" else signal.SIGSTOP)
            if fault == "late":
                time.sleep(0.5 * SILENCE)
                with contextlib.suppress(ProcessLookupError):  # it was about to end
                    os.kill(hit, signal.SIGCONT)
        try:
            remarks = process.communicate(timeout=30)[1]
        except subprocess.TimeoutExpired:
            # The others may have left MPI_Finalize, with all done, before it stopped: then no rank is left to miss it.
            if fault == "killed" or children(process.pid) != [hit]:
                for left in (*children(process.pid), process.pid):
                    with contextlib.suppress(ProcessLookupError):  # mpirun has seen its end
                        os.kill(left, signal.SIGKILL)
                process.communicate()
                return "hangs", "hangs"
            os.kill(hit, signal.SIGCONT)
            remarks = process.communicate(timeout=30)[1]
            return f"the others had ended, exit {process.returncode}", self.left(stage, 2, process.returncode != 0)
        allowed = {"killed": (0, *KILLED, IO), "stopped": (0, IO), "late": (0,)}[fault]
        wrong = "" if process.returncode in allowed else f"exit {process.returncode}: {remarks[-300:]}"
        if process.returncode == IO and len(errors_of(remarks)) != 1:
            wrong += f"{len(errors_of(remarks))} sentences: {remarks[-300:]}"
        return f"exit {process.returncode}", wrong + self.left(stage, 2, process.returncode != 0)

    def race(self, stage):
        """Two runs of the same command; returns how they ended and what is wrong."""
        delay = self.moment(stage, 1)
        shutil.rmtree(self.out, ignore_errors=True)
        runs = [self.start(stage)]
        time.sleep(delay)
        runs.append(self.start(stage))
        remarks = [process.communicate(timeout=120)[1] for process in runs]
        codes = sorted(process.returncode for process in runs)
        wrong = ""
        for process, words in zip(runs, remarks):
            if process.returncode not in (0, IO) or len(errors_of(words)) != (process.returncode != 0):
                wrong += f"exit {process.returncode}: {words[-300:]}"
        return f"exits {codes[0]} and {codes[1]}", wrong + self.left(stage, 1, 0 not in codes)


def campaign(chain, signals, ranks, races, report):
    """Tries this number of each; returns what went wrong."""
    life, ends, wrong = Life(chain), {}, []

    def tell(kind, stage, end, why):
        ends[kind, end] = ends.get((kind, end), 0) + 1
        if why:
            wrong.append(f"{kind}, {stage}, {end}: {why}")
            report(wrong[-1])

    for i in range(signals):
        stage = GOES_ON[i % len(GOES_ON)]
        tell("signal", stage, *life.signalled(stage, SIGNALS[i % len(SIGNALS)], (i + 0.5) / signals))
    for i in range(ranks):
        stage, fault = ON_RANKS[i // len(FAULTS) % len(ON_RANKS)], FAULTS[i % len(FAULTS)]
        tell(f"rank {fault}", stage, *life.rank_fault(stage, fault))
    for i in range(races):
        stage = ALONE[i % len(ALONE)]
        tell("race", stage, *life.race(stage))
    for (kind, end), number in sorted(ends.items()):
        report(f"{kind}: {number} × {end}")
    return wrong


def main():
    with tempfile.TemporaryDirectory(prefix="cosmo-chain-") as holder:
        wrong = campaign(operations.Chain(holder), *map(int, sys.argv[1:4]), lambda line: print(line, flush=True))
    print(f"{len(wrong)} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
