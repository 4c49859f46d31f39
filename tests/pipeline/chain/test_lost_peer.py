"""Ranks that are lost without a goodbye: the others report it and end, and the same command goes on from what is saved."""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

from test_kills import SIM, SMALL_NETWORK
from toolkit import ENVIRONMENT, DirectoryTest, children, command, command_with_faults, contents, succeed

IO = 4
TIMEOUT = 2.4  # [s]
LATER = 3.5  # [s] after that the sentence is there at the latest: the second rank leaves 2 s to the first
MINUTES = ["--peer-timeout", TIMEOUT / 60]


def is_there(pid):
    """Whether a process lives, or is stopped."""
    try:
        return not re.search(r"State:\s+[ZX]", pathlib.Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return False


def report(line):
    """Prints what was measured, if asked for."""
    if "COSMO_TIMES" in os.environ:
        print(line, file=sys.stderr, flush=True)


class Ranks:
    """Two ranks of a tool under mpirun, and what they write to standard error, with times."""

    def __init__(self, words):
        self.process = subprocess.Popen(words, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.lines = []
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stderr:
            self.lines.append((time.monotonic(), line.rstrip()))

    def wait_for(self, condition):
        deadline = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < deadline and self.process.poll() is None, self.lines
            time.sleep(0.01)
        return children(self.process.pid)

    def end(self):
        """Exit code, standard output and the sentences of the tool with their times."""
        output = self.process.stdout.read()
        code = self.process.wait(60)
        self.reader.join()
        self.process.stdout.close()
        self.process.stderr.close()
        return code, output, [(at, line) for at, line in self.lines if ": error: " in line]


class LostPeer(DirectoryTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.sim, cls.data, network = cls.root / "sim", cls.root / "data", cls.root / "small.json"
        succeed("cosmo-sim", *SIM, "--output", cls.sim)
        succeed("cosmo-prep", *cls.shard_words(), "--output", cls.data)
        network.write_text(json.dumps(SMALL_NETWORK))
        cls.training = ["--data", cls.data, "--network", network, "--global-batch", 4, "--threads", 1, "--epochs", 30]

    @classmethod
    def shard_words(cls):
        return ["shard", "--input", cls.sim, "--samples-per-shard", 4]

    def train(self, output, *more):
        """Starts a training; returns it and its processes once it has saved something."""
        ranks = Ranks(command(2, "cosmo-train", *self.training, *more, "--output", output))
        return ranks, ranks.wait_for((output / "manifest.json").exists)

    def whole(self):
        """What an unbroken training leaves."""
        output = self.root / "whole"
        if not output.exists():
            succeed("cosmo-train", *self.training, "--output", output, ranks=2)
        return contents(output)

    def check_loss(self, ranks, processes, lost, since, timeout=TIMEOUT):
        """Checks the one sentence, its time, the exit code, and that all processes are gone; returns the sentence."""
        code, _, sentences = ranks.end()
        self.assertEqual((code, len(sentences)), (IO, 1), ranks.lines)
        at, sentence = sentences[0]
        self.assertRegex(sentence, rf"o sign of life for .* s \(--peer-timeout\) from rank {lost} on {socket.gethostname()}: ")
        self.assertGreater(at - since, 0.8 * timeout)
        self.assertLess(at - since, timeout + LATER)
        self.all_gone(processes)
        report(f"{self.id()}: rank {lost} lost, reported after {at - since:.2f} s, all gone after {time.monotonic() - since:.2f} s")
        return sentence

    def all_gone(self, processes):
        deadline = time.monotonic() + 5
        while any(map(is_there, processes)):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)


class Stopped(LostPeer):
    def test_a_stopped_rank_is_named_and_the_same_command_goes_on(self):
        runs = []
        for lost in (1, 0):
            output = self.root / f"without-{lost}"
            ranks, processes = self.train(output, *MINUTES)
            os.kill(processes[lost], signal.SIGSTOP)
            runs.append((output, ranks, processes, lost, time.monotonic()))
        for output, *run in runs:
            sentence = self.check_loss(*run)
            self.assertIn("error: No sign", sentence)
            self.assertIn("the same command goes on", sentence)
            self.assertFalse(json.loads((output / "manifest.json").read_text())["complete"])
        for output, *_ in runs:
            succeed("cosmo-train", *self.training, "--output", output, ranks=2)
            self.assertEqual(contents(output), self.whole())

    def test_ranks_that_go_on_in_time_and_jobs_that_are_suspended(self):
        output = self.root / "suspended"
        ranks, processes = self.train(output, *MINUTES)
        for stopped, seconds in ((processes[1:], TIMEOUT / 2), (processes[:1], TIMEOUT / 2), (processes, TIMEOUT + 2)):
            for number, pause in ((signal.SIGSTOP, seconds), (signal.SIGCONT, 0.1)):
                for process in stopped:
                    os.kill(process, number)
                time.sleep(pause)
        self.assertEqual(ranks.end()[0::2], (0, []), ranks.lines)
        self.assertEqual(contents(output), self.whole())


class AtTheEnds(LostPeer):
    """Ranks lost at the ends of a run, in MPI's own collective calls too."""

    def start(self, output, faults):
        """cosmo-prep on two ranks."""
        return Ranks(command_with_faults(faults, 2, "cosmo-prep", *self.shard_words(), *MINUTES, "--output", output))

    def test_a_rank_stopped_in_init(self):
        for lost in (0, 1):
            output, begin = self.root / "begun", time.monotonic()
            ranks = self.start(output, {"FAULT_RANK": lost, "INIT": int(signal.SIGSTOP)})
            processes = ranks.wait_for(lambda: len(children(ranks.process.pid)) == 2)
            code, _, sentences = ranks.end()
            self.assertEqual((code, len(sentences)), (IO, 1), ranks.lines)
            self.assertIn("error: MPI_Init has not ended for", sentences[0][1])
            self.all_gone(processes)
            report(f"{self.id()}: rank {lost} stopped, reported {sentences[0][0] - begin:.2f} s after the start")
            self.assertFalse(output.exists())

    def test_a_rank_that_works_for_long_is_waited_for(self):
        begin = time.monotonic()
        outputs = [self.root / f"slow-{rank}" for rank in (0, 1)]
        slow = [self.start(output, {"FAULT_RANK": rank, "KILL_UNDER": output / "train/shard", "KILL_AT": 1, "PAUSE": 5})
                for rank, output in enumerate(outputs)]
        for ranks, output in zip(slow, outputs):
            self.assertEqual(ranks.end()[0::2], (0, []), ranks.lines)
            self.assertGreater(time.monotonic() - begin, 5)
            self.assertEqual(contents(output), contents(self.data))

    def test_a_rank_stopped_after_its_work_while_root_still_works(self):
        output = self.root / "published"
        ranks = self.start(output, {"FAULT_RANK": 0, "KILL_UNDER": "stdout", "KILL_AT": 1, "PAUSE": 1})
        processes = ranks.wait_for((output / "manifest.json").exists)
        time.sleep(0.5)
        os.kill(processes[1], signal.SIGSTOP)
        self.assertIn("error: All is done, but there was no sign", self.check_loss(ranks, processes, 1, time.monotonic()))
        self.assertEqual(contents(output), contents(self.data))

    def test_a_rank_stopped_in_finalize(self):
        output = self.root / "finalized"
        ranks = self.start(output, {"FAULT_RANK": 1, "FINALIZE": int(signal.SIGSTOP)})
        processes = ranks.wait_for((output / "manifest.json").exists)
        begin = time.monotonic()
        code, _, sentences = ranks.end()
        self.assertEqual((code, len(sentences)), (IO, 1), ranks.lines)
        self.assertIn("error: All is done, but MPI_Finalize has not ended for", sentences[0][1])
        self.all_gone(processes)
        report(f"{self.id()}: reported {sentences[0][0] - begin:.2f} s after the manifest")
        self.assertEqual(contents(output), contents(self.data))


class AskedToStop(LostPeer):
    """Runs with the default timeout of minutes."""

    def test_a_rank_that_is_asked_to_stop_does_not_wait_long_for_a_lost_one(self):
        """As under srun, which passes signals on."""
        ranks, processes = self.train(self.root / "asked")
        os.kill(processes[1], signal.SIGSTOP)
        os.kill(processes[0], signal.SIGTERM)
        self.check_loss(ranks, processes, 1, time.monotonic(), 8)

    def test_all_end_with_a_terminated_mpirun(self):
        ranks, processes = self.train(self.root / "terminated")
        os.kill(processes[1], signal.SIGSTOP)
        begin = time.monotonic()
        ranks.process.send_signal(signal.SIGTERM)
        ranks.end()
        self.all_gone(processes)
        self.assertLess(time.monotonic() - begin, 15)
        report(f"{self.id()}: all gone after {time.monotonic() - begin:.2f} s")


if __name__ == "__main__":
    unittest.main()
