"""--deterministic any: trainings with any ranks, threads and micro-batches have the same bits."""

import contextlib
import hashlib
import json
import os
import pathlib
import signal
import subprocess
import time
import unittest

from toolkit import ENVIRONMENT, PipelineTest, children, command, cosmo_train, error_line, run, succeed

EPOCHS = 2  # six steps each
# Ranks, threads, micro-batch.
LAYOUTS = ((1, 1, 1), (1, 2, 1), (1, 3, 4), (1, 8, 2), (2, 1, 1), (2, 2, 2), (2, 3, 1), (4, 1, 1), (4, 2, 2), (8, 1, 1))


class Deterministic(PipelineTest):
    LABELS = ("slow",)

    def words(self, output, network="cosmoflow32", epochs=EPOCHS):
        return ["--data", self.data, "--network", network, "--global-batch", 8, "--output", self.root / output, "--deterministic", "any",
                "--epochs", epochs]

    def last_checkpoint(self, output):
        """The bytes of the last state: weights, moments and history."""
        path = sorted((self.root / output / "checkpoints").iterdir())[-1]
        return path.name, hashlib.sha256(path.read_bytes()).hexdigest()

    def kill(self, processes):
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        deadline = time.monotonic() + 20
        while any(pathlib.Path(f"/proc/{process}/fd").exists() and os.listdir(f"/proc/{process}/fd") for process in processes[:-1]):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def check_layouts(self, network, layouts):
        found = {}
        for ranks, threads, micro_batch in layouts:
            name = f"{network}-{ranks}-{threads}-{micro_batch}"
            summary = cosmo_train(*self.words(name, network), "--threads", threads, "--micro-batch", micro_batch, ranks=ranks)
            found[name] = self.last_checkpoint(name)
            self.assertEqual(summary["micro_batch"], 1)
        self.assertEqual(len(set(found.values())), 1, found)

    def test_any_layout_gives_the_same_bits(self):
        self.check_layouts("cosmoflow32", LAYOUTS)

    def test_a_network_that_normalises(self):
        self.check_layouts("cosmonet32", LAYOUTS[1::3])

    def test_shared_samples_have_the_same_bits_on_any_ranks(self):
        """One group of ranks that share each sample, and several; the numbers of ranks per sample have bits of their own."""
        found = {}
        for network, shared, layouts in (("cosmoflow32", 4, ((4, 1), (4, 2), (8, 1))), ("cosmonet32", 2, ((2, 2), (4, 1), (8, 1)))):
            of_layouts = set()
            for ranks, threads in layouts:
                name = f"shared-{network}-{ranks}-{threads}"
                summary = cosmo_train(*self.words(name, network), "--threads", threads, "--ranks-per-sample", shared, ranks=ranks)
                self.assertEqual((summary["ranks_per_sample"], summary["slabs"]), (shared, shared))
                of_layouts.add(self.last_checkpoint(name))
            self.assertEqual(len(of_layouts), 1, network)
            found[network] = of_layouts.pop()
        self.assertEqual(len(set(found.values())), 2)

    def test_a_killed_training_goes_on_with_other_ranks(self):
        """4, 2, 1 and 4 ranks, each killed with SIGKILL after a step that it has saved, but the last."""
        self.check_killed("", [], (4, 2, 1))

    def test_a_killed_training_goes_on_with_other_groups_of_ranks(self):
        self.check_killed("shared-", ["--ranks-per-sample", 2], (2, 8, 4))

    def check_killed(self, name, shared, killed):
        succeed("cosmo-train", *self.words(f"{name}whole", epochs=4), *shared, ranks=2)
        for ranks in killed:
            words = [*self.words(f"{name}killed", epochs=4), *shared, "--checkpoint-minutes", 0, "--quiet"]
            process = subprocess.Popen(command(ranks, "cosmo-train", *words), env=ENVIRONMENT, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            saved = self.root / f"{name}killed" / "checkpoints"
            before = set(saved.iterdir()) if saved.exists() else set()
            deadline = time.monotonic() + 60
            while process.poll() is None and time.monotonic() < deadline:
                if saved.exists() and set(saved.glob("*.h5")) - before:
                    break
                time.sleep(0.002)
            self.kill([*children(process.pid), process.pid])
            process.wait()
        succeed("cosmo-train", *self.words(f"{name}killed", epochs=4), *shared, ranks=4)
        self.assertEqual(self.last_checkpoint(f"{name}killed"), self.last_checkpoint(f"{name}whole"))

    def test_slabs_of_earlier_versions(self):
        """The option that named them, and the id of trainings whose samples had two: it is that of two ranks per sample."""
        words = [*self.words("planned"), "--ranks-per-sample", 2, "--dry-run", "--json"]
        plain, former = run("cosmo-train", *words, ranks=2), run("cosmo-train", *words, "--slabs", 2, ranks=2)
        self.assertEqual(json.loads(plain.stdout)["id"], json.loads(former.stdout)["id"])
        self.assertNotIn("--slabs", plain.stderr)
        self.assertIn("--slabs is from an earlier version: write --ranks-per-sample 2", former.stderr)
        cosmo_train(*self.words("two"), "--ranks-per-sample", 2, "--time-limit", 0.001, ranks=2)
        config = json.loads((self.root / "two/manifest.json").read_text())["config"]
        self.assertEqual((config["deterministic"], config["slabs"]), ("any", 2))

    def test_the_id_tells_how_bits_came_about(self):
        ids = {way: succeed("cosmo-train", *self.words("planned")[:-4], "--deterministic", way, "--epochs", EPOCHS, "--dry-run")["id"]
               for way in ("any", "layout")}
        self.assertNotEqual(ids["any"], ids["layout"])

    def test_memory_of_a_tree_is_predicted(self):
        """Of eight samples per step a tree keeps three sums of gradients, also where all ranks share each sample; the order of the layout keeps one
        sum. All else is the same for both."""
        plans = {way: succeed("cosmo-train", *self.words("planned", "mlperf")[:-4], "--deterministic", way, "--epochs", EPOCHS,
                              "--ranks-per-sample", 2, "--micro-batch", 1, "--dry-run", ranks=2) for way in ("any", "layout")}
        sums = (plans["any"]["memory_bytes_per_rank"] - plans["layout"]["memory_bytes_per_rank"]) / (4 * plans["any"]["parameters"])
        self.assertAlmostEqual(sums, 2, delta=0.3)

    def test_what_cannot_be_is_refused(self):
        for ranks, words, sentence in (
                (3, ["--ranks-per-sample", 3, "--global-batch", 8], "--deterministic any needs a power of two of ranks per sample, not 3"),
                (4, ["--ranks-per-sample", 4, "--slabs", 2], "--slabs 2 is not the 4 of --ranks-per-sample"),
                (1, ["--slabs", 2, "--deterministic", "layout"], "--slabs applies only with --deterministic any"),
                (1, ["--slabs", 4], "several slabs on one rank are no longer supported: give --ranks-per-sample 4, which also continues a stopped "
                 "training of 4 slabs"),
                (2, ["--reduction-precision", "bf16"], "--deterministic any sends sums in f32"),
                (2, ["--global-batch", 12], "a power of two of samples in a step for each of the 2 ranks, not 6: give "
                 "--global-batch 8 or 16, or use another number of ranks"),
                (3, ["--global-batch", 8], "must be a multiple of the 3 ranks: give 6 or 12"),
                (4, ["--ranks-per-sample", 2, "--global-batch", 12], "for each of the 2 groups of ranks, not 6: give --global-batch 8 or 16"),
                (1, ["--deterministic", "all"], "--deterministic")):
            given = [word for word in self.words("refused")]
            for option in words[::2]:
                if option in given:
                    del given[given.index(option):given.index(option) + 2]
            done = run("cosmo-train", *given, *words, ranks=ranks)
            self.assertIn(done.returncode, (2, 3), done.stderr)
            self.assertIn(sentence, error_line(done, "cosmo-train"))
        self.assertFalse((self.root / "refused").exists())


if __name__ == "__main__":
    unittest.main()
