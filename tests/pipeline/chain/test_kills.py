"""Killed at any file operation or moment, a run is finished by the same command, and every file is an unbroken run's.

COSMO_KILLS=all kills at each file operation and 200 random moments of cosmo-sim and cosmo-prep, and 50 of cosmo-train on
one rank and on two (40 minutes):
    COSMO_BIN=build/release/bin PYTHONPATH=tests/pipeline/support COSMO_KILLS=all /usr/bin/python3 tests/pipeline/chain/test_kills.py
"""

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

from toolkit import (ENVIRONMENT, DirectoryTest, children, command, contents, kill_after, run, run_with_faults, sha256,
                     succeed)

ALL = os.environ.get("COSMO_KILLS") == "all"
SIM = ["generate", "--simulations", 4, "--omega-m", "0.25:0.35", "--box", 64, "--particles", 16, "--steps", 2,
       "--redshifts", "0,1"]
STEPS_PER_EPOCH = 4  # two universes of eight samples in steps of four


SMALL_NETWORK = {"name": "small", "input": "voxels", "layers": [
    {"name": "conv", "inputs": ["voxels"], "kind": "convolution", "outputs": 16, "kernel": 3, "stride": 1, "padding": 0,
     "slope": 0.01},
    {"name": "drop", "inputs": ["conv"], "kind": "dropout", "probability": 0.2},
    {"name": "dense", "inputs": ["drop"], "kind": "dense", "outputs": 0, "slope": 1}]}


def report(line):
    """Prints a line, if all kills were asked for."""
    if ALL:
        print(line, file=sys.stderr, flush=True)


def kill_ranks_after(seconds, victims, ranks, tool, *words):
    """Starts a tool, kills the ranks `victims` after this number of seconds if it is not done by then, and waits for the rest."""
    with subprocess.Popen(command(ranks, tool, *words), env=ENVIRONMENT, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as process:
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            processes = [process.pid] if ranks == 1 else children(process.pid)
            for victim in victims:
                if victim < len(processes):  # mpirun may not have started them yet
                    os.kill(processes[victim], signal.SIGKILL)
            if ranks > 1 and not processes:
                process.kill()
            process.wait(60)


def last_checkpoint(output):
    """What a rerun reports that it goes on from: nothing, or the last recorded checkpoint, which must be whole."""
    manifest, journal = output / "manifest.json", output / "journal.jsonl"
    records = []
    if manifest.exists():
        found = json.loads(manifest.read_text())
        records = [] if found["complete"] else found["files"]  # the kill came too late
    elif journal.exists():
        for line in journal.read_text().splitlines()[1:]:
            with contextlib.suppress(ValueError):  # half a line
                records.append(json.loads(line))
    checkpoints = [record for record in records if record["path"].startswith("checkpoints/")]
    if not checkpoints:
        return []
    last = max(checkpoints, key=lambda record: record["path"])
    assert sha256(output / last["path"]) == last["sha256"], last["path"]
    epoch, step = re.fullmatch(r"checkpoints/epoch-(\d+)(?:_step-(\d+))?.h5", last["path"]).groups()
    if step is None:
        return [f"{int(epoch)} epochs"]
    return [f"{int(epoch)} epochs and {int(step) - int(epoch) * STEPS_PER_EPOCH} steps"]


class Killed(DirectoryTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.sim = cls.root / "sim"
        succeed("cosmo-sim", *SIM, "--output", cls.sim)
        cls.shard = ["shard", "--input", cls.sim, "--samples-per-shard", 4]
        data, network = cls.root / "samples", cls.root / "small.json"
        succeed("cosmo-prep", *cls.shard, "--output", data)
        network.write_text(json.dumps(SMALL_NETWORK))
        cls.training = ["--data", data, "--network", network, "--global-batch", 4, "--threads", 1, "--checkpoint-minutes", 0]

    def survives(self, kill, whole, tool, *words, ranks=1):
        """Kills a run into a new directory, finishes it, and compares; returns what kill(directory) does."""
        parts = self.root / "parts"
        shutil.rmtree(parts, ignore_errors=True)
        killed = kill(parts)
        succeed(tool, *words, "--output", parts, ranks=ranks)
        self.assertEqual(contents(parts), whole)
        return killed

    def operations(self, tool, *words):
        """The number of changes to its directory that a whole run makes, and the files that it leaves."""
        parts, count = self.root / "counted", self.root / "count"
        done = run_with_faults({"KILL_UNDER": parts, "KILL_COUNT": count}, tool, *words, "--output", parts)
        self.assertEqual(done.returncode, 0, done.stderr)
        whole = contents(parts)
        shutil.rmtree(parts)
        return int(count.read_text()), whole

    def kill_at_operations(self, kills, tool, *words, ranks=1):
        total, whole = self.operations(tool, *words)
        together = [] if ranks == 1 else ["--ranks-per-simulation", ranks]  # one file, written by all
        self.assertGreater(total, 40)
        chosen = range(1, total + 1) if ALL else sorted({1 + total * i // kills for i in range(kills)})
        for at in chosen:
            with self.subTest(operation=at):
                def kill(parts):
                    done = run_with_faults({"KILL_UNDER": parts, "KILL_AT": at}, tool, *words, *together, "--output",
                                           parts, ranks=ranks)
                    if ranks == 1:
                        self.assertEqual(done.returncode, -signal.SIGKILL)
                    else:  # mpirun's exit code, which reports that a rank was killed
                        self.assertNotEqual(done.returncode, 0)
                self.survives(kill, whole, tool, *words, *together, ranks=ranks)
        report(f"{self.id()}: killed at {len(chosen)} of {total} file operations")

    def kill_at_moments(self, kills, whole, tool, *words):
        begin = time.monotonic()
        run(tool, *words, "--output", self.root / "timed")
        duration = time.monotonic() - begin
        moment, kills, killed, runs = random.Random(1), 200 if ALL else kills, 0, 0
        while killed < kills and runs < 3 * kills:  # a run may be done before its moment
            seconds, runs = moment.uniform(0, duration), runs + 1
            with self.subTest(seconds=seconds):
                was_killed = self.survives(lambda parts: kill_after(seconds, tool, *words, "--output", parts), whole, tool,
                                           *words)
                killed += was_killed
                duration = duration if was_killed else seconds  # the first run was timed while the machine was busy
        self.assertEqual(killed, kills)
        report(f"{self.id()}: killed {killed} of {runs} runs, within {duration:.2f} s of their beginning")
        shutil.rmtree(self.root / "timed")


class Universes(Killed):
    """cosmo-sim."""

    LABELS = ("slow",)

    def test_universes_killed_at_file_operations(self):
        self.kill_at_operations(12, "cosmo-sim", *SIM)

    def test_universes_killed_on_two_ranks(self):
        self.kill_at_operations(3, "cosmo-sim", *SIM, ranks=2)

    def test_counts_and_particles_killed_at_file_operations(self):
        self.kill_at_operations(6, "cosmo-sim", *SIM, "--save", "counts,particles")

    def test_one_of_two_slices_killed(self):
        """The other, at work in the same directory, comes to its end, and neither publishes half a suite."""
        whole, killed = contents(self.sim), ["cosmo-sim", *SIM, "--select", "0:2"]
        total, _ = self.operations(*killed)
        for at in range(1, total + 1) if ALL else (total // 4, total // 2, total - total // 4):
            with self.subTest(operation=at):
                def kill(parts):
                    other = subprocess.Popen(command(1, "cosmo-sim", *SIM, "--select", "2:4", "--output", parts,
                                                     "--quiet"),
                                             env=ENVIRONMENT, stdout=subprocess.DEVNULL)
                    done = run_with_faults({"KILL_UNDER": parts, "KILL_AT": at}, *killed, "--output", parts)
                    self.assertEqual(other.wait(60), 0)
                    self.assertEqual(done.returncode, -signal.SIGKILL)
                    self.assertFalse((parts / "manifest.json").exists())
                self.survives(kill, whole, *killed)

    def test_universes_killed_at_any_moment(self):
        self.kill_at_moments(3, contents(self.sim), "cosmo-sim", *SIM)


class Shards(Killed):
    """cosmo-prep."""

    LABELS = ("slow",)

    def test_shards_killed_at_file_operations(self):
        self.kill_at_operations(5, "cosmo-prep", *self.shard)

    def test_channels_and_rolls_killed_at_file_operations(self):
        self.kill_at_operations(3, "cosmo-prep", *self.shard, "--redshifts", "1,0", "--rolls", 2, "--compress", "gzip")

    def test_shards_killed_at_any_moment(self):
        self.kill_at_moments(3, contents(self.root / "samples"), "cosmo-prep", *self.shard)


class Trainings(Killed):
    """cosmo-train."""

    LABELS = ("slow",)

    def test_trainings_killed_at_file_operations(self):
        self.kill_at_operations(6, "cosmo-train", *self.training, "--epochs", 2)

    def test_trainings_killed_at_any_moment(self):
        """One rank, or one of two, or both: each goes on from the last checkpoint that was published."""
        words = [*self.training, "--epochs", 10]
        moment = random.Random(2)
        for ranks in (1, 2):
            whole, parts = self.root / f"whole-training{ranks}", self.root / f"killed-training{ranks}"
            begin = time.monotonic()
            succeed("cosmo-train", *words, "--output", whole, ranks=ranks)
            duration = time.monotonic() - begin
            for kill in range(50 if ALL else 3):
                seconds = moment.uniform(0, duration)
                with self.subTest(ranks=ranks, kill=kill, seconds=seconds):
                    shutil.rmtree(parts, ignore_errors=True)
                    kill_ranks_after(seconds, [kill % 2] if ranks == 2 and kill % 3 else range(ranks), ranks,
                                     "cosmo-train", *words, "--output", parts)
                    last = last_checkpoint(parts)
                    rerun = run("cosmo-train", *words, "--output", parts, ranks=ranks)
                    self.assertEqual(rerun.returncode, 0, rerun.stderr)
                    self.assertEqual(re.findall("continuing after (.*)", rerun.stderr), last)
                    self.assertEqual(contents(parts), contents(whole))


if __name__ == "__main__":
    unittest.main()
