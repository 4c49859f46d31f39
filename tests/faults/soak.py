"""A long training on two ranks, which are stopped for a while at random: their memory has to stay where it was.

Usage: soak.py MINUTES [DATA NETWORK]
"""

import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "pipeline/support"))

from toolkit import ENVIRONMENT, STOPPED, children, command, succeed  # noqa: E402

RANKS = 2
GROWTH = 2 * 1024  # [KiB] that a rank's memory may grow by, once a tenth of the time is over
SIM = ("generate", "--simulations", 40, "--omega-m", "0.25:0.35", "--box", 64, "--particles", 16, "--grid", 32, "--steps", 2)
SHARDS = ("--subvolumes", 1, "--validation", 4, "--test", 4)


def memory(process):
    """[KiB] A process's own memory: what it has allocated, without the files that it maps."""
    status = pathlib.Path(f"/proc/{process}/status").read_text()
    return sum(int(size) for size in re.findall(r"Rss(?:Anon|Shmem):\s+(\d+) kB", status))


def epochs_done(output):
    """The number of epochs whose losses a training has saved."""
    try:
        return len((output / "history.csv").read_text().splitlines()) - 1
    except OSError:
        return 0


def small_data(root):
    """Shards to train on, and the network for them."""
    succeed("cosmo-sim", *SIM, "--output", root / "sim")
    succeed("cosmo-prep", "shard", "--input", root / "sim", *SHARDS, "--output", root / "data")
    return root / "data", "cosmonet32"


class Training:
    """A training that would last for ever."""

    def __init__(self, data, network, output):
        self.output = output
        words = command(RANKS, "cosmo-train", "--data", data, "--network", network, "--output", output, "--threads", 1,
                        "--epochs", 10**6, "--checkpoint-minutes", 0.1)
        self.process = subprocess.Popen(words, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while epochs_done(output) < 2:
            assert self.process.poll() is None, self.process.stderr.read()
            time.sleep(0.1)
        self.ranks = children(self.process.pid)

    def delay(self, chance):
        """Stops a rank for up to two seconds."""
        rank = chance.choice(self.ranks)
        os.kill(rank, signal.SIGSTOP)
        time.sleep(chance.uniform(0.01, 2))
        os.kill(rank, signal.SIGCONT)

    def memory(self):
        """The least of each rank within a second: validation takes some MB for a part of each epoch."""
        samples = []
        for _ in range(25):
            samples.append([memory(rank) for rank in self.ranks])
            time.sleep(0.04)
        return [min(each) for each in zip(*samples)]

    def end(self):
        """Asks it to stop; returns its exit code and standard error."""
        self.process.send_signal(signal.SIGUSR1)
        told = self.process.communicate(timeout=120)[1]
        return self.process.returncode, told


def soak(minutes, data, network, output, report):
    """Returns the most that a rank's memory grew by [KiB], the number of delays, and what went wrong."""
    training, chance = Training(data, network, output), random.Random(1)
    begin, told, delays = time.monotonic(), 0.0, 0
    least, growth = [], 0
    while (elapsed := (time.monotonic() - begin) / 60) < minutes:
        training.delay(chance)
        delays += 1
        time.sleep(chance.uniform(0, 1))
        now = training.memory()
        if elapsed > minutes / 10:
            least = [min(pair) for pair in zip(least or now, now)]
            growth = max(growth, *(size - first for size, first in zip(now, least)))
        if elapsed >= told:
            report(f"{elapsed:.1f} min: {epochs_done(output)} epochs, {delays} delays, {', '.join(map(str, now))} KiB")
            told += minutes / 24
    code, remarks = training.end()
    return growth, delays, "" if code == STOPPED else f"exit {code}: {remarks[-500:]}"


def main():
    with tempfile.TemporaryDirectory(prefix="cosmo-soak-") as holder:
        root = pathlib.Path(holder)
        data, network = sys.argv[2:4] if len(sys.argv) > 2 else small_data(root)
        growth, delays, wrong = soak(float(sys.argv[1]), data, network, root / "model", lambda line: print(line, flush=True))
    print(f"{delays} delays, memory grew by {growth} KiB. {wrong}")
    sys.exit(1 if wrong or growth > GROWTH else 0)


if __name__ == "__main__":
    main()
