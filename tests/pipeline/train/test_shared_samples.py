"""Trainings in which several ranks share each sample are those of one rank, but for rounding."""

import csv
import os
import signal
import subprocess
import time
import unittest

from toolkit import ENVIRONMENT, PipelineTest, children, command, cosmo_train, error_line, run, succeed

EPOCHS = 3


class SharedSamples(PipelineTest):
    LABELS = ("slow",)

    def words(self, output, network="cosmoflow32", batch=8):
        return ["--data", self.data, "--network", network, "--global-batch", batch, "--output", self.root / output]

    def train(self, output, *words, epochs=EPOCHS, ranks=1, **network):
        return cosmo_train(*self.words(output, **network), "--epochs", epochs, "--decay-epochs", EPOCHS, "--threads", 1,
                           *words, ranks=ranks)

    def losses(self, output):
        """Training and validation losses of each epoch."""
        lines = (self.root / output / "history.csv").read_text().splitlines()
        names = lines[0].split(",")
        columns = [names.index("train_loss"), names.index("validation_loss")]
        return [[float(line.split(",")[column]) for column in columns] for line in lines[1:]]

    def check_alike(self, found, expected, tolerance):
        self.assertEqual(len(found), len(expected))
        for row, other in zip(found, expected):
            for a, b in zip(row, other):
                self.assertLess(abs(a - b), tolerance * abs(b), (found, expected))

    def check_layouts(self, name, *words, tolerance, **network):
        """Compares layouts of ranks with a single rank."""
        one = self.train(f"{name}-1", *words, **network)
        self.assertEqual(one["ranks_per_sample"], 1)
        self.assertEqual(one["step_exchanging_ms"]["max"], 0)
        for ranks, shared in ((2, 2), (4, 2), (4, 4)):
            summary = self.train(f"{name}-{ranks}-{shared}", *words, "--ranks-per-sample", shared, ranks=ranks, **network)
            self.assertEqual(summary["id"], one["id"])
            self.assertEqual(summary["micro_batches_per_step"] * summary["micro_batch"] * ranks // shared,
                             one["global_batch"])
            self.assertGreater(summary["step_exchanging_ms"]["min"], 0)
            self.check_alike(self.losses(f"{name}-{ranks}-{shared}"), self.losses(f"{name}-1"), tolerance)

    def test_losses_are_those_of_one_rank(self):
        self.check_layouts("plain", tolerance=1e-5)

    def test_ranks_read_their_planes_alone(self):
        """Layers without padding see 31 of 32 planes, in slabs that overlap by a plane."""
        bytes_read = {}
        for shared in (1, 2, 4):
            summary = self.train(f"read-{shared}", "--ranks-per-sample", shared, ranks=shared, epochs=2)
            bytes_read[shared] = summary["data_bytes_read"]
        for shared in (2, 4):
            self.assertLess(bytes_read[shared], (1 + shared / 32) * bytes_read[1])
            self.assertGreater(bytes_read[shared], 0.9 * bytes_read[1])

    def test_a_network_that_normalises(self):
        """Steps of all samples: their gradients nearly cancel, and what is left of them is soon another for other ranks, whether or
        not they share samples."""
        self.check_layouts("normalised", "--optimizer", "sgd", "--learning-rate", 0.01, network="cosmonet32", batch=48,
                           epochs=2, tolerance=2e-3)
        for layout in ("2-2", "4-2", "4-4"):
            first, second = self.losses(f"normalised-{layout}"), self.losses("normalised-1")
            self.check_alike([first[0], first[1][:1]], [second[0], second[1][:1]], 2e-5)

    def test_a_training_goes_on_with_other_ranks(self):
        self.train("whole")
        self.train("begun", epochs=1)
        self.train("begun", "--resume", "--ranks-per-sample", 2, ranks=2, epochs=2)
        self.train("begun", "--resume", ranks=2)
        self.check_alike(self.losses("begun"), self.losses("whole"), 1e-5)

    def test_a_dry_run_prints_the_cut(self):
        words = [*self.words("planned"), "--ranks-per-sample", 2, "--dry-run"]
        done = run("cosmo-train", *words, ranks=2)
        self.assertEqual(done.returncode, 0, done.stderr)
        for layer, planes, made in (("conv1", "15", "7 to 8"), ("conv2", "7", "3 to 4"), ("pool2", "1", "all")):
            line, = [line.split(maxsplit=2) for line in done.stdout.splitlines()
                     if line.split()[:1] == [layer] and " x " not in line]
            self.assertEqual(line[1], planes)
            self.assertTrue(line[2].startswith(made), line)
        self.assertIn("1 groups of 2 ranks", done.stdout)
        whole = succeed("cosmo-train", *self.words("planned"), "--dry-run", ranks=2)
        self.assertEqual(whole["ranks_per_sample"], 1)

    def test_predictions_are_those_of_one_rank(self):
        for name, network in (("flat", "cosmoflow32"), ("means", "cosmonet32")):
            self.train(f"{name}-model", epochs=1, network=network)
            rows = {}
            for ranks, shared in ((1, 1), (2, 2), (4, 2), (4, 4)):
                output = self.root / f"{name}-predictions-{ranks}-{shared}"
                succeed("cosmo-infer", "--model", self.root / f"{name}-model", "--data", self.data, "--output", output,
                        "--ranks-per-sample", shared, "--baselines", "centre", "--threads", 1, ranks=ranks)
                with open(output / "predictions.csv", newline="") as file:
                    rows[ranks, shared] = [[float(value) for value in row] for row in list(csv.reader(file))[1:]]
            for layout, found in rows.items():
                self.assertEqual(len(found), len(rows[1, 1]))
                for row, other in zip(found, rows[1, 1]):
                    for value, expected in zip(row, other):
                        self.assertAlmostEqual(value, expected, delta=2e-6 * max(1, abs(expected)), msg=layout)

    def test_networks_that_see_different_planes_are_refused(self):
        for network in ("cosmoflow32", "cosmonet32"):
            self.train(f"refused-{network}", epochs=1, network=network)
        models = f"{self.root}/refused-cosmoflow32,{self.root}/refused-cosmonet32"
        done = run("cosmo-infer", "--model", models, "--data", self.data, "--output", self.root / "no", "--ranks-per-sample", 2, ranks=2)
        self.assertEqual(done.returncode, 3)
        self.assertIn("need different planes of a sample", error_line(done, "cosmo-infer"))
        done = run("cosmo-infer", "--model", self.root / "refused-cosmonet32", "--data", self.data, "--output", self.root / "no",
                   "--ranks-per-sample", 3, ranks=2)
        self.assertIn("--ranks-per-sample 3 does not divide the number of ranks, 2", error_line(done, "cosmo-infer"))
        done = run("cosmo-infer", "--model", self.root / "refused-cosmonet32", "--input", "x.h5", "--ranks-per-sample", 2, ranks=2)
        self.assertIn("--ranks-per-sample applies only with --data", error_line(done, "cosmo-infer"))
        self.assertFalse((self.root / "no").exists())

    def test_what_does_not_fit_is_refused(self):
        for ranks, batch, shared, sentence in (
                (2, 8, 3, "--ranks-per-sample 3 does not divide the number of ranks, 2"),
                (1, 8, 2, "--ranks-per-sample 2 does not divide the number of ranks, 1"),
                (4, 7, 2, "must be a multiple of the 2 groups of ranks"),
                (2, 8, 0, "--ranks-per-sample")):
            done = run("cosmo-train", *self.words("refused", batch=batch), "--ranks-per-sample", shared, ranks=ranks)
            self.assertIn(done.returncode, (2, 3), done.stderr)
            self.assertIn(sentence, error_line(done, "cosmo-train"))
        self.assertFalse((self.root / "refused").exists())

    def test_a_rank_that_stops_while_others_wait_for_its_planes_ends_all(self):
        words = [*self.words("stopped"), "--epochs", 100000, "--ranks-per-sample", 2, "--peer-timeout", 0.05, "--quiet"]
        process = subprocess.Popen(command(2, "cosmo-train", *words), env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
        try:
            manifest = self.root / "stopped" / "history.csv"
            deadline = time.monotonic() + 60
            while not manifest.exists() and time.monotonic() < deadline:
                time.sleep(0.1)
            self.assertTrue(manifest.exists())
            os.kill(children(process.pid)[1], signal.SIGSTOP)
            _, errors = process.communicate(timeout=30)
        finally:
            process.kill()
        self.assertIn("No sign of life", errors)
        self.assertEqual(process.returncode, 4)


if __name__ == "__main__":
    unittest.main()
