"""--smooth: a low-pass before the network, in training and wherever the model predicts."""

import csv
import json
import shutil
import unittest

from toolkit import DirectoryTest, cosmo_train, error_line, make_once, run, succeed

WORDS = ["--network", "cosmonet32", "--epochs", 2, "--global-batch", 8, "--baseline", "none"]


class Smooth(DirectoryTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.sim, cls.data, cls.octants = cls.root / "sim", cls.root / "data", cls.root / "octants"
        make_once(cls.root, ["cosmo-sim", "generate", "--simulations", 48, "--omega-m", "0.25:0.35", "--sigma8", "0.78:0.95",
                             "--box", 128, "--particles", 32, "--steps", 3, "--grid", 32, "--output", cls.sim])
        succeed("cosmo-prep", "shard", "--input", cls.sim, "--subvolumes", 1, "--validation", 8, "--test", 8, "--output", cls.data)
        succeed("cosmo-prep", "shard", "--input", cls.sim, "--subvolumes", 2, "--validation", 8, "--test", 8, "--output", cls.octants)
        cls.model = cls.root / "model"
        succeed("cosmo-train", "--data", cls.data, "--output", cls.model, *WORDS, "--smooth", 6)

    def manifest(self, directory):
        return json.loads((directory / "manifest.json").read_text())

    def weights(self, directory):
        return [record["sha256"] for record in self.manifest(directory)["checkpoints"]]

    def test_it_is_recorded_and_changes_what_is_learned(self):
        self.assertEqual(self.manifest(self.model)["normalisation"]["smooth_mpc_h"], 6)
        plain = self.root / "plain"
        succeed("cosmo-train", "--data", self.data, "--output", plain, *WORDS)
        self.assertNotIn("smooth_mpc_h", self.manifest(plain)["normalisation"])
        self.assertNotEqual(self.weights(plain), self.weights(self.model))
        self.assertTrue(succeed("cosmo-train", "--data", self.data, "--output", self.model, *WORDS, "--smooth", 6)["up_to_date"])

    def test_readers_and_a_stop_change_no_bit(self):
        for name, words in (("none", ["--readers", 0]), ("three", ["--readers", 3])):
            succeed("cosmo-train", "--data", self.data, "--output", self.root / name, *WORDS, "--smooth", 6, *words)
            self.assertEqual(self.weights(self.root / name), self.weights(self.model))
        succeed("cosmo-train", "--data", self.data, "--output", self.root / "halves", *WORDS[:2], "--epochs", 1, "--decay-epochs", 2,
                *WORDS[4:], "--smooth", 6)
        succeed("cosmo-train", "--data", self.data, "--output", self.root / "halves", *WORDS, "--smooth", 6, "--resume")
        self.assertEqual(self.weights(self.root / "halves")[-1], self.weights(self.model)[-1])
        steps = ["--data", self.data, "--output", self.root / "steps", *WORDS, "--smooth", 6]
        cosmo_train(*steps, "--time-limit", 0)  # ends after a step
        self.assertEqual(cosmo_train(*steps, "--resume", "--time-limit", 0)["steps_done"], 2)
        succeed("cosmo-train", *steps, "--resume")
        self.assertEqual(self.weights(self.root / "steps")[-1], self.weights(self.model)[-1])

    def test_ranks_share_samples(self):
        """But for rounding: of a step of all samples, as gradients cancel where a network normalises."""
        losses = []
        for ranks in (1, 2):
            output = self.root / f"trained-{ranks}"
            succeed("cosmo-train", "--data", self.data, "--output", output, *WORDS[:4], "--global-batch", 32, "--optimizer", "sgd",
                    "--learning-rate", 0.01, "--smooth", 6, "--ranks-per-sample", ranks, ranks=ranks)
            losses.append(next(csv.DictReader((output / "history.csv").read_text().splitlines())))
        for name in ("train_loss", "validation_loss"):
            self.assertAlmostEqual(*(float(row[name]) for row in losses), delta=2e-5 * float(losses[0][name]))
        predicted = []
        for ranks in (1, 2):
            out = self.root / f"shared-{ranks}"
            succeed("cosmo-infer", "--model", self.model, "--data", self.data, "--ranks-per-sample", ranks, "--output", out, "--baselines", "centre", ranks=ranks)
            predicted.append([float(row["predicted_sigma8"]) for row in csv.DictReader((out / "universes.csv").read_text().splitlines())])
        for a, b in zip(*predicted):
            self.assertAlmostEqual(a, b, delta=1e-5)

    def test_a_suite_is_predicted_as_its_split(self):
        of_split, of_suite = self.root / "split", self.root / "suite"
        succeed("cosmo-infer", "--model", self.model, "--data", self.data, "--output", of_split, "--baselines", "centre", ranks=2)
        succeed("cosmo-infer", "--model", self.model, "--input", self.sim, "--output", of_suite)
        rows = {row["seed"]: row for row in csv.DictReader((of_suite / "universes.csv").read_text().splitlines())}
        for row in csv.DictReader((of_split / "universes.csv").read_text().splitlines()):
            self.assertEqual(rows[row["seed"]]["predicted_sigma8"], row["predicted_sigma8"])

    def test_what_cannot_be_smoothed_is_refused(self):
        def refused(parts, tool, *words):
            done = run(tool, *words)
            self.assertEqual(done.returncode, 3, done.stderr)
            for part in parts:
                self.assertIn(part, error_line(done, tool))
        new = ["--output", self.root / "new"]
        for value in (-1, 33):
            refused(["--smooth", "off"], "cosmo-train", "--data", self.data, *new, *WORDS, "--smooth", value)
        done = run("cosmo-train", "--data", self.data, *new, *WORDS, "--smooth", "none")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("or off", error_line(done, "cosmo-train"))
        refused(["--smooth", "--subvolumes 1"], "cosmo-train", "--data", self.octants, *new, "--epochs", 1, "--smooth", 6,
                "--network", "cosmonet32")
        refused(["--init-from", "--smooth 6"], "cosmo-train", "--data", self.data, *new, *WORDS, "--init-from", self.model)
        self.assertFalse((self.root / "new").exists())

    def test_a_manifest_that_states_no_possible_low_pass_is_refused(self):
        for key, value in (("smooth_mpc_h", 0), ("smooth_mpc_h", -6), ("smooth_mpc_h", 60), ("smooth_mpc", 6)):
            model = self.root / "edited"
            shutil.rmtree(model, ignore_errors=True)
            shutil.copytree(self.model, model)
            manifest = json.loads((model / "manifest.json").read_text())
            del manifest["normalisation"]["smooth_mpc_h"]
            manifest["normalisation"][key] = value
            (model / "manifest.json").write_text(json.dumps(manifest))
            done = run("cosmo-infer", "--model", model, "--data", self.data, "--output", self.root / "new")
            self.assertEqual(done.returncode, 5, done.stderr)
            self.assertIn("smooths voxels by", error_line(done, "cosmo-infer"))


if __name__ == "__main__":
    unittest.main()
