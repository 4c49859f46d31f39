"""A training that is stopped, fails or finds bad input saves what it should, damages nothing, and can be continued."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time
import unittest
import zlib

import h5py
import numpy as np

from toolkit import (BIN, ENVIRONMENT, STOPPED, PipelineTest, children, command, contents, cosmo_train, error_line, record_again, run,
                     run_with_faults, sha256, succeed)

CONFIG, IO, FORMAT, NUMERIC = 3, 4, 5, 6
EPOCHS = 20  # more than a second


def files_of(output):
    """sha256 of the files that a training has made in its directory, which need not exist yet."""
    return {name: digest for name, digest in contents(output).items() if name != "journal.jsonl"}


class Stoppable(PipelineTest):
    UNIVERSES = 12  # 64 training samples: 6 steps of 12, the last one of 4

    @classmethod
    def train_words(cls):
        return ["--data", cls.data, "--network", "cosmoflow32", "--global-batch", 12, "--threads", 1]

    @classmethod
    def words_with(cls, data, network="cosmoflow32"):
        return ["--data", data, "--network", network, *cls.train_words()[4:]]

    def train(self, output, *words, ranks=1, epochs=2):
        return cosmo_train(*self.train_words(), "--epochs", epochs, *words, "--output", output, ranks=ranks)

    def refused(self, code, parts, output, *words):
        """Checks exit code and sentence, on one rank and on two, and that no file in `output` changed."""
        before = files_of(output)
        for ranks in (1, 2):
            done = run("cosmo-train", *words, "--epochs", 2, "--output", output, ranks=ranks)
            self.assertEqual(done.returncode, code, done.stderr)
            sentence = error_line(done, "cosmo-train")
            for part in parts:
                self.assertIn(str(part), sentence)
            self.assertEqual(files_of(output), before)

    def start_and_signal(self, number, target, output, ranks):
        """Starts a training, sends it a signal after its first epoch, and returns its exit code and output."""
        signal.signal(signal.SIGINT, signal.default_int_handler)  # which may be ignored, and children would inherit that
        words = command(ranks, "cosmo-train", *self.train_words(), "--epochs", EPOCHS, "--output", output, "--json")
        with subprocess.Popen(words, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            deadline = time.monotonic() + 60
            while not list(output.glob("checkpoints/*.h5")):
                self.assertIsNone(process.poll())
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
            os.kill(process.pid if target == "first" else children(process.pid)[-1], number)
            text, _ = process.communicate(timeout=60)
        return process.returncode, text

    @staticmethod
    def losses(output):
        """(epochs, 2): loss of training and validation."""
        return np.genfromtxt(output / "history.csv", delimiter=",", skip_header=1)[:, 3:5]

    def stopped(self, name, network="cosmoflow32"):
        """A training stopped after three steps; returns its directory and the path of its checkpoint."""
        output = self.root / name
        for _ in range(3):
            cosmo_train(*self.words_with(self.data, network), "--epochs", 2, "--time-limit", 0, "--output", output)
        return output, next((output / "checkpoints").iterdir())

    def stopped_after_an_epoch(self, name):
        """A training of two epochs stopped after the first step of the second; returns the words that continue it, its
        directory and its two checkpoints."""
        output = self.root / name
        words = [*self.train_words(), "--decay-epochs", 2]
        succeed("cosmo-train", *words, "--epochs", 1, "--output", output)
        cosmo_train(*words, "--epochs", 2, "--resume", "--time-limit", 0, "--output", output)
        best, last = sorted((output / "checkpoints").iterdir())
        return words, output, best, last


class Signals(Stoppable):
    """Signals to a training, and to mpirun."""

    LABELS = ("slow",)

    def test_signals_save_and_the_same_command_goes_on(self):
        wholes = {}
        for ranks, number, target in ((1, signal.SIGTERM, "first"), (1, signal.SIGUSR1, "first"),
                                      (2, signal.SIGUSR1, "first"), (2, signal.SIGTERM, "one rank"),
                                      (1, signal.SIGINT, "first"), (2, signal.SIGINT, "one rank")):
            if ranks not in wholes:
                self.train(self.root / f"whole{ranks}", ranks=ranks, epochs=EPOCHS)
                wholes[ranks] = contents(self.root / f"whole{ranks}")
            output = self.root / f"signal{number}-{ranks}"
            code, text = self.start_and_signal(number, target, output, ranks)
            self.assertEqual(code, STOPPED, text)
            summary = json.loads(text)
            self.assertFalse(summary["complete"])
            manifest = json.loads((output / "manifest.json").read_text())
            self.assertFalse(manifest["complete"])
            self.assertEqual(max(state["step"] for state in manifest["checkpoints"]), summary["steps_done"])
            self.assertEqual(self.train(output, ranks=ranks, epochs=EPOCHS)["steps_done"], 6 * EPOCHS)
            self.assertEqual(contents(output), wholes[ranks], f"{ranks} ranks, signal {number} to {target}")

    def test_a_terminated_mpirun_leaves_whole_files(self):
        """mpirun passes both on as SIGTERM and kills its ranks two seconds later; its exit code is 1."""
        whole, output = self.root / "unterminated", self.root / "terminated"
        self.train(whole, ranks=2, epochs=EPOCHS)
        for number in (signal.SIGTERM, signal.SIGINT):
            code, _ = self.start_and_signal(number, "first", output, 2)
            self.assertNotEqual(code, 0)
            self.train(output, ranks=2, epochs=EPOCHS)
            self.assertEqual(contents(output), contents(whole))
            shutil.rmtree(output)

    def test_memory_is_what_was_predicted(self):
        summary = self.train(self.root / "measured")
        self.assertAlmostEqual(summary["memory_bytes_per_rank"], summary["peak_rss_bytes"],
                               delta=0.1 * summary["peak_rss_bytes"] + 8e6)


class AnyMoment(Stoppable):
    """Signals from a program's first line to its last."""

    @staticmethod
    def remembers(process, number):
        """Whether a process has a handler for a signal."""
        caught = re.search(r"(?m)^SigCgt:\s*(\w+)", pathlib.Path(f"/proc/{process.pid}/status").read_text())[1]
        return int(caught, 16) >> (number - 1) & 1

    def signalled(self, delay, *words):
        """Sends SIGUSR1 `delay` seconds after main() has begun; returns the exit code."""
        with subprocess.Popen([BIN / words[0], *map(str, words[1:])], env=ENVIRONMENT, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as process:
            while not self.remembers(process, signal.SIGUSR1):
                time.sleep(0.001)
            time.sleep(delay)
            process.send_signal(signal.SIGUSR1)
        return process.returncode

    def test_no_moment_of_a_training_is_one_to_die_in(self):
        whole, output = self.root / "undisturbed", self.root / "disturbed"
        words = ["cosmo-train", *self.train_words(), "--epochs", 4]
        run(*words, "--output", whole)
        codes = set()
        moments = 50 if os.environ.get("COSMO_FAULTS") == "all" else 8
        for moment in range(moments):
            delay = 0.8 * moment / moments  # the whole life takes about 0.7 s
            code = self.signalled(delay, *words, "--output", output)
            self.assertIn(code, (0, STOPPED), f"{delay} s")
            codes.add(code)
            succeed(*words, "--output", output)
            self.assertEqual(contents(output), contents(whole))
            shutil.rmtree(output)
        self.assertIn(STOPPED, codes)

    def test_after_the_last_word_of_a_training(self):
        output = self.root / "remarks"
        for _ in range(5):
            with subprocess.Popen([BIN / "cosmo-train", *map(str, self.train_words()), "--epochs", "1", "--json", "--output",
                                   output], env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
                process.stdout.readline()
                while process.poll() is None:
                    process.send_signal(signal.SIGUSR1)
                    time.sleep(0.002)
            self.assertEqual(process.returncode, 0)

    def test_the_summary_follows_the_error(self):
        words = command(1, "cosmo-train", *self.train_words(), "--epochs", 2, "--time-limit", 0, "--output", self.root / "last", "--json")
        done = subprocess.run(words, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        self.assertEqual(done.returncode, STOPPED, done.stdout)
        *_, error, summary = done.stdout.splitlines()
        self.assertIn("Stopped before all was done", error)
        self.assertFalse(json.loads(summary)["complete"])

    def test_a_suite_stops_between_steps_and_goes_on(self):
        words = ["cosmo-sim", "generate", "--simulations", 24, "--omega-m", "0.25:0.35", "--particles", 32, "--box", 128]
        whole = self.root / "whole-suite"
        succeed(*words, "--output", whole)
        for ranks, number in ((1, signal.SIGTERM), (2, signal.SIGUSR1), (1, signal.SIGINT)):
            output = self.root / f"suite{ranks}-{number}"
            signal.signal(signal.SIGINT, signal.default_int_handler)
            with subprocess.Popen(command(ranks, *words, "--output", output), env=ENVIRONMENT, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True) as process:
                while not list(output.glob("sim-*/counts_z0.h5")):
                    self.assertIsNone(process.poll())
                    time.sleep(0.005)
                os.kill(process.pid if ranks == 1 else children(process.pid)[-1], number)
                _, remarks = process.communicate(timeout=60)
            self.assertEqual(process.returncode, STOPPED, remarks)
            self.assertIn("cosmo-sim: Stopped before all was done", remarks)
            self.assertNotIn("error", remarks)
            self.assertLess(len(list(output.glob("sim-*"))), 24)
            succeed(*words, "--output", output)
            self.assertEqual(contents(output), contents(whole))


class OtherRanks(Stoppable):
    """A stopped training on other ranks."""

    def test_a_training_goes_on_with_another_number_of_ranks(self):
        whole = self.root / "one-rank"
        self.train(whole)
        losses = [self.losses(whole)]
        for stop, (before, after) in enumerate(((1, 2), (2, 1), (1, 4), (4, 2))):
            output = self.root / f"ranks{before}{after}"
            for _ in range(stop + 1):
                summary = self.train(output, "--time-limit", 0, ranks=before)
            self.assertEqual(summary["steps_done"], stop + 1)
            self.assertTrue(self.train(output, ranks=after)["complete"])
            losses.append(self.losses(output))
        for other in losses[1:]:
            np.testing.assert_allclose(other[0], losses[0][0], rtol=1e-2)  # Adam amplifies rounding
        with_sgd = ["--optimizer", "sgd", "--learning-rate", 0.01, "--loss", "mse"]
        self.train(self.root / "sgd", *with_sgd)
        for _ in range(3):
            self.train(self.root / "sgd12", *with_sgd, "--time-limit", 0)
        self.train(self.root / "sgd12", *with_sgd, ranks=2)
        np.testing.assert_allclose(self.losses(self.root / "sgd12"), self.losses(self.root / "sgd"), rtol=1e-4)


class FullDisks(Stoppable):
    """The disk is full at any file."""

    def test_a_full_disk_leaves_the_last_checkpoint_and_the_run_can_be_continued(self):
        words = [*self.train_words(), "--epochs", 2, "--checkpoint-minutes", 0]
        wholes = {}
        for ranks in (1, 2):
            self.train(self.root / f"roomy{ranks}", "--checkpoint-minutes", 0, ranks=ranks)
            wholes[ranks] = contents(self.root / f"roomy{ranks}")
        size = next((self.root / "roomy1/checkpoints").iterdir()).stat().st_size
        for case, (room, suffix, ranks) in enumerate(((size // 2, ".h5.part", 1), (size * 7 // 2, ".h5.part", 1),
                                                      (size * 15 // 2, ".h5.part", 2), (3000, "journal.jsonl.part", 1),
                                                      (20000, "manifest.json.part", 1), (400, "history.csv.part", 1),
                                                      (1000, "run.json.part", 2))):
            output = self.root / f"full{case}"
            done = run_with_faults({"DISK_BYTES": room, "DISK_SUFFIX": suffix}, "cosmo-train", *words, "--output",
                                   output, ranks=ranks)
            if done.returncode == 0 and suffix == "journal.jsonl.part":
                continue  # it is written only once
            self.assertEqual(done.returncode, IO, done.stderr)
            self.assertIn(str(output), error_line(done, "cosmo-train"))
            if room > size and suffix == ".h5.part":
                self.check_checkpoints(output, room // size)
            succeed("cosmo-train", *words, "--output", output, ranks=ranks)
            self.assertEqual(contents(output), wholes[ranks], f"{room} bytes of {suffix}")

    def check_checkpoints(self, output, saved):
        """The last checkpoint that the manifest lists is the last that had room, and is whole."""
        states = json.loads((output / "manifest.json").read_text())["checkpoints"]
        last = max(states, key=lambda state: state["path"])
        self.assertEqual(last["step"] + last["epoch"], saved)  # one per step, and one per epoch
        for state in states:
            self.assertEqual(sha256(output / state["path"]), state["sha256"])


class Failures(Stoppable):
    """Input and losses that a training cannot go on with."""

    def test_a_sample_that_gives_no_finite_loss_is_named(self):
        """One voxel with all particles, in weights so large that only this sample leaves float's range."""
        data = shutil.copytree(self.data, self.root / "spiked")
        shard = data / "train/shard-00002.h5"
        with h5py.File(shard, "r+") as file:
            spike = np.zeros_like(file["x"][5])
            spike[16, 16, 16] = file["x"][5].sum(dtype=np.int64)
            file.attrs.modify("max_count", max(file.attrs["max_count"], np.uint64(spike.max())))
            file["x"][5] = spike
            file["crc32"][5] = zlib.crc32(spike.tobytes())
            file["plane_crc32"][5] = [zlib.crc32(plane.tobytes()) for plane in spike]
            simulation, subvolume = file["simulation"][5], file["subvolume"][5]
        record_again(data, shard)
        words = [*self.words_with(data), "--recipe", "paper", "--voxels", "mean"]
        output = self.root / "overflowing"
        cosmo_train(*words, "--epochs", 2, "--time-limit", 0, "--output", output)
        checkpoint, = (output / "checkpoints").iterdir()
        with h5py.File(checkpoint, "r+") as file:
            file["weights/conv1/weights"][...] *= np.float32(3e35)
        record_again(output, checkpoint)
        self.refused(NUMERIC, [f"(simulation {simulation}, sub-volume {subvolume}; row 5 of {shard})", "loss of step",
                               "--learning-rate"], output, *words)

    def test_a_diverging_training_saves_nothing_that_is_not_finite(self):
        output = self.root / "diverging"
        words = ["--optimizer", "sgd", "--epochs", 30, "--checkpoint-minutes", 0]
        for ranks in (1, 2):
            shutil.rmtree(output, ignore_errors=True)
            done = run("cosmo-train", *self.train_words(), *words, "--learning-rate", 1e6, "--output", output, ranks=ranks)
            self.assertEqual(done.returncode, NUMERIC, done.stderr)
            self.assertIn("lower --learning-rate", error_line(done, "cosmo-train"))
            for checkpoint in output.glob("checkpoints/*.h5"):
                with h5py.File(checkpoint) as file:
                    file.visititems(lambda _, item: isinstance(item, h5py.Group) or self.assertTrue(
                        np.isfinite(item[...]).all()))

    def test_targets_that_are_not_numbers(self):
        for name in ("y", "y_unit"):
            data = shutil.copytree(self.data, self.root / f"nan-in-{name}")
            shard = data / "train/shard-00001.h5"
            with h5py.File(shard, "r+") as file:
                file[name][3, 1] = np.nan
            record_again(data, shard)
            self.refused(FORMAT, [shard, "sample 3"], self.root / "never", *self.words_with(data))

    def test_shards_that_do_not_fit_the_network(self):
        never = self.root / "never"
        large, channels = self.root / "data64", self.root / "two-channels"
        succeed("cosmo-prep", *self.prep_words(), "--subvolumes", 1, "--output", large)
        self.refused(CONFIG, ["conv5", "choose another --network"], never, *self.words_with(large, "cosmoflow"))
        shutil.copytree(self.data, channels)
        for split in ("train", "validation", "test"):
            for shard in (channels / split).iterdir():
                with h5py.File(shard, "r+") as file:
                    counts = file["x"][:]
                    del file["x"]
                    file.create_dataset("x", data=np.stack([counts, counts], axis=1), chunks=(1, 2, *counts.shape[1:]))
                record_again(channels, shard)
        self.refused(FORMAT, [channels / "train/shard-0000", "/x"], never, *self.words_with(channels))


class Checkpoints(Stoppable):
    """Checkpoints that are damaged, of another training, or gone."""

    LABELS = ("slow",)

    def test_checkpoints_that_are_not_this_trainings(self):
        output, checkpoint = self.stopped("other-network")
        _, other = self.stopped("stranger", "mlperf")
        shutil.copyfile(other, checkpoint)
        record_again(output, checkpoint)
        self.refused(FORMAT, [checkpoint, "checkpoint of another network"], output, *self.train_words())

    def test_a_checkpoint_with_other_bytes(self):
        output, checkpoint = self.stopped("flipped")
        content = bytearray(checkpoint.read_bytes())
        content[len(content) // 2] ^= 1
        checkpoint.write_bytes(content)
        self.refused(FORMAT, [checkpoint, "sha256"], output, *self.train_words())

    def test_a_truncated_checkpoint_is_named_and_nothing_is_removed(self):
        words, output, best, last = self.stopped_after_an_epoch("truncated")
        for state, size, more in ((best, 0, []), (last, 1000, []), (last, 0, ["--resume"])):
            whole = state.read_bytes()
            os.truncate(state, size)
            self.refused(FORMAT, [state, "damaged", "--force"], output, *words, *more)
            state.write_bytes(whole)
        succeed("cosmo-train", *words, "--epochs", 2, "--output", output)
        finished = contents(output)
        last = max((output / "checkpoints").iterdir())
        os.truncate(last, 1000)
        self.refused(FORMAT, [last, "damaged", "--force"], output, *words)
        succeed("cosmo-train", *words, "--epochs", 2, "--force", "--output", output)
        self.assertEqual(contents(output), finished)

    def test_a_truncated_checkpoint_before_the_manifest_stands(self):
        """A run with no disk space for its first manifest leaves the journal."""
        output = self.root / "truncated-early"
        words = [*self.train_words(), "--epochs", 2, "--time-limit", 0, "--output", output]
        done = run_with_faults({"DISK_BYTES": 100, "DISK_SUFFIX": "manifest.json.part"}, "cosmo-train", *words)
        self.assertEqual(done.returncode, IO, done.stderr)
        self.assertTrue((output / "journal.jsonl").exists())
        checkpoint, = (output / "checkpoints").iterdir()
        whole = checkpoint.read_bytes()
        os.truncate(checkpoint, len(whole) - 1)
        self.refused(FORMAT, [checkpoint, "damaged"], output, *self.train_words())
        checkpoint.unlink()
        self.refused(FORMAT, [checkpoint, "missing"], output, *self.train_words())
        checkpoint.write_bytes(whole)
        self.assertEqual(cosmo_train(*words)["steps_done"], 2)

    def test_a_removed_checkpoint_leaves_the_other_one_to_go_on_from(self):
        words, output, best, last = self.stopped_after_an_epoch("removed")
        kept = shutil.copytree(output, self.root / "removed-last")
        (kept / last.relative_to(output)).unlink()
        wholes = []
        for directory in (output, kept):
            self.assertEqual(succeed("cosmo-train", *words, "--epochs", 2, "--output", directory)["steps_done"], 12)
            wholes.append(contents(directory))
        self.assertEqual(*wholes)

    def test_a_training_without_its_checkpoints_does_not_begin_again_unasked(self):
        words, output, best, last = self.stopped_after_an_epoch("all-removed")
        shutil.rmtree(output / "checkpoints")
        for more in ([], ["--resume"]):
            self.refused(FORMAT, [last, "missing", "--force"], output, *words, *more)
        self.assertTrue(succeed("cosmo-train", *words, "--epochs", 2, "--force", "--output", output)["complete"])

    def test_a_checkpoint_that_is_not_finite_or_out_of_its_epoch(self):
        output, checkpoint = self.stopped("not-finite")
        whole = checkpoint.read_bytes()
        with h5py.File(checkpoint, "r+") as file:
            file["second_moment/dense1/biases"][1] = np.nan
        record_again(output, checkpoint)
        self.refused(FORMAT, [checkpoint, "second_moment", "not finite"], output, *self.train_words())
        checkpoint.write_bytes(whole)
        with h5py.File(checkpoint, "r+") as file:
            file.attrs["step"] = np.uint64(7)
        record_again(output, checkpoint)
        self.refused(FORMAT, [checkpoint.name, "step 7", "6 steps"], output, *self.train_words())


if __name__ == "__main__":
    unittest.main()
