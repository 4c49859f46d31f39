"""The four stages one after another: what they write, on one rank and on two, and what a rerun does."""

import csv
import json
import unittest

import h5py
import numpy as np

from toolkit import PipelineTest, contents, cosmo_train, run, sha256, succeed, times


class Chain(PipelineTest):
    LABELS = ("chain",)  # which the debug preset runs, too

    def test_two_ranks_write_the_same_universes_and_shards(self):
        sim, data = self.root / "sim2", self.root / "data2"
        summary = succeed("cosmo-sim", *self.sim_words(), "--output", sim, ranks=2)
        self.assertEqual(summary["id"], json.loads((self.sim / "manifest.json").read_text())["id"])
        self.assertEqual(contents(sim), contents(self.sim))
        succeed("cosmo-prep", *self.prep_words(), "--output", data, ranks=2)
        self.assertEqual(contents(data), contents(self.data))

    def test_h5py_opens_counts(self):
        manifest = json.loads((self.sim / "manifest.json").read_text())
        self.assertEqual(len(manifest["simulations"]), self.UNIVERSES)
        for entry in manifest["simulations"]:
            with h5py.File(self.sim / entry["files"][0]) as file:
                counts = file["counts"]
                self.assertEqual(counts.dtype, np.dtype("<u2"))
                self.assertEqual(counts.shape, (64, 64, 64))
                self.assertEqual(int(counts[...].sum(dtype=np.int64)), 64**3)
                named = dict(zip(file.attrs["parameter_names"], file.attrs["parameter_values"]))
                self.assertEqual(named, entry["parameters"])
                self.assertEqual(int(file.attrs["seed"]), entry["seed"])
                self.assertEqual(file.attrs["box"], 128.0)

    def test_universes_differ_and_cluster(self):
        digests = [digest for name, digest in contents(self.sim).items() if name.endswith(".h5")]
        self.assertEqual(len(set(digests)), self.UNIVERSES)
        with h5py.File(self.sim / "sim-00000/counts_z0.h5") as file:
            counts = file["counts"][...].astype(float)
        self.assertGreater(counts.var() / counts.mean(), 2)  # 1 for a Poisson process

    def test_predictions_and_their_errors(self):
        model = self.root / "model"
        succeed("cosmo-train", *self.train_words(), "--epochs", 2, "--output", model)
        outputs = {ranks: self.root / f"predictions{ranks}" for ranks in (1, 2)}
        for ranks, output in outputs.items():
            summary = succeed("cosmo-infer", "--model", model, "--data", self.data, "--split", "test", "--output",
                              output, ranks=ranks)
            self.assertEqual(summary["samples"], 16)
        self.assertIn("up to date", run("cosmo-infer", "--model", model, "--data", self.data, "--output",
                                        outputs[1]).stdout)
        self.assertIn("up to date", run("cosmo-train", *self.train_words(), "--epochs", 2, "--output", model).stdout)
        metrics, other = (json.loads((outputs[ranks] / "metrics.json").read_text()) for ranks in (1, 2))
        for name, figures in metrics["network"].items():
            self.assertAlmostEqual(figures["relative_error"], other["network"][name]["relative_error"], places=5)
        self.assertEqual((metrics["samples"], metrics["universes"]), (16, 2))
        rows = list(csv.DictReader((outputs[1] / "predictions.csv").read_text().splitlines()))
        self.check_metrics(metrics, rows)
        self.check_single_universe(model, rows)

    def check_metrics(self, metrics, rows):
        """Recomputes every figure from predictions.csv."""
        ranges = {"omega_m": (0.25, 0.35), "sigma8": (0.78, 0.95), "n_s": (0.9, 1.0)}
        universes = sorted({row["simulation"] for row in rows})
        for name, (low, high) in ranges.items():
            x = np.array([float(row[f"true_{name}"]) for row in rows])
            p = np.array([float(row[f"predicted_{name}"]) for row in rows])
            groups = [np.array([row["simulation"] == universe for row in rows]) for universe in universes]
            whole = [np.array([values[group].mean() for group in groups]) for values in (x, p)]
            centre = np.full(len(universes), (low + high) / 2)
            for found, truth, guess in ((metrics["network"], *whole), (metrics["per_subvolume"]["network"], x, p),
                                        (metrics["baselines"]["centre"], whole[0], centre)):
                deviation = metrics["label_deviation"][name]
                expected = {"scaled_error": np.sqrt(np.mean((truth - guess) ** 2)) / deviation,
                            "fractional_error": np.mean(abs(truth - guess) / truth), "relative_error": np.mean(abs(truth - guess) / guess),
                            "mae": np.mean(abs(truth - guess)) * 2 / (high - low),
                            "rmse": np.sqrt(np.mean((truth - guess) ** 2)), "bias": np.mean(guess - truth),
                            "slope": np.polyfit(truth, guess, 1)[0]}
                for figure, value in expected.items():
                    self.assertAlmostEqual(found[name][figure], value, delta=1e-9 + 1e-6 * abs(value), msg=figure)
                    self.assertGreater(found[name][figure + "_se"], -1e-300)

    def test_predictions_follow_the_model(self):
        """A training that went on is another input, though its id is the same."""
        model, output = self.root / "growing", self.root / "stale"
        words = (*self.train_words(), "--epochs", 6, "--output", model)
        infer = ("cosmo-infer", "--model", model, "--data", self.data, "--output", output)
        refused = None
        while not cosmo_train(*words, "--time-limit", 0)["epochs_done"]:  # a step each time
            refused = run(*infer)
            self.assertEqual(refused.returncode, 3)
            self.assertIn("has not finished an epoch: continue it", refused.stderr)
        self.assertIsNotNone(refused)
        universe = next(self.sim.glob("sim-*/counts_z0.h5"))
        one = ("cosmo-infer", "--model", model, "--input", universe)
        export = ("cosmo-infer", "export", "--model", model, "--output", self.root / "growing.onnx")
        for asked in (infer, one, export):
            refused = run(*asked)
            self.assertEqual(refused.returncode, 3)
            self.assertIn(f"{model} holds a training that is not finished: go on with it, or give --unfinished", refused.stderr)
        succeed(*infer, "--unfinished")
        self.assertIn(f"{model} holds a training that is not finished.", succeed(*one, "--unfinished")["warnings"])
        succeed(*export, "--unfinished")
        self.assertTrue((self.root / "growing.onnx").read_bytes().endswith(b"complete\x12\x05false"))
        warnings = json.loads((output / "metrics.json").read_text())["warnings"]
        self.assertIn(f"{model} holds a training that is not finished.", warnings)
        first = (output / "predictions.csv").read_bytes()
        cosmo_train(*words)
        best = [state["epoch"] for state in json.loads((model / "manifest.json").read_text())["checkpoints"]
                if state["best"]]
        if best == [1]:
            self.skipTest("the first epoch was the best")
        refused = run(*infer)
        self.assertEqual(refused.returncode, 3)
        self.assertIn("checkpoint", refused.stderr)
        succeed(*infer, "--force")
        self.assertNotEqual((output / "predictions.csv").read_bytes(), first)

    def check_single_universe(self, model, rows):
        """A counts file on its own gives the mean of its sub-volumes' predictions in the split."""
        universe = int(rows[0]["simulation"])
        own = [row for row in rows if int(row["simulation"]) == universe]
        for ranks in (1, 2):
            found = succeed("cosmo-infer", "--model", model, "--input", self.sim / f"sim-{universe:05}/counts_z0.h5",
                            ranks=ranks)
            self.assertEqual(found["subvolumes"], 8)
            for name, parameter in found["parameters"].items():
                mean = np.mean([float(row[f"predicted_{name}"]) for row in own])
                self.assertAlmostEqual(parameter["value"], mean, places=6)
                self.assertGreater(parameter["error"], 0)
        finer = self.root / "finer.h5"
        with h5py.File(self.sim / f"sim-{universe:05}/counts_z0.h5") as file, h5py.File(finer, "w") as other:
            counts = np.zeros((128, 128, 128), "<u2")
            counts[::2, 1::2, ::2] = file["counts"]  # the same particles on a grid twice as fine
            other["counts"] = counts
            other.attrs.update(file.attrs)
            other.attrs["voxel"] = file.attrs["voxel"] / 2
        again = succeed("cosmo-infer", "--model", model, "--input", finer)
        self.assertEqual((again["subvolumes"], again["parameters"]), (8, found["parameters"]))

    def test_a_rerun_is_up_to_date_and_writes_nothing(self):
        before = times(self.root)
        for tool, words in (("cosmo-sim", [*self.sim_words(), "--output", self.sim]),
                            ("cosmo-prep", [*self.prep_words(), "--output", self.data])):
            for ranks in (1, 2):
                done = run(tool, *words, ranks=ranks)
                self.assertEqual(done.returncode, 0)
                self.assertIn("up to date", done.stdout)
        after = times(self.root)
        self.assertEqual({name: after[name] for name in before}, before)

    def test_a_lost_file_is_made_again_and_a_damaged_one_by_force(self):
        victim = self.sim / "sim-00003/counts_z0.h5"
        digest = sha256(victim)
        victim.unlink()
        succeed("cosmo-sim", *self.sim_words(), "--output", self.sim)
        self.assertEqual(sha256(victim), digest)
        content = bytearray(victim.read_bytes())
        content[-1] ^= 1
        victim.write_bytes(content)
        succeed("cosmo-sim", *self.sim_words(), "--output", self.sim, "--force")
        self.assertEqual(sha256(victim), digest)

    def test_a_dry_run_writes_nothing_and_reports_the_cost(self):
        absent = self.root / "absent"
        for tool, words in (("cosmo-sim", self.sim_words()), ("cosmo-prep", self.prep_words()),
                            ("cosmo-train", self.train_words())):
            summary = succeed(tool, *words, "--dry-run", "--output", absent)
            self.assertGreater(summary["disk_bytes"], 0)
        self.assertFalse(absent.exists())


if __name__ == "__main__":
    unittest.main()
