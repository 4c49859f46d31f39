"""Baselines, paired differences and the forecast beside the network's error."""

import csv
import json
import math
import unittest

import numpy as np

from toolkit import PipelineTest, contents, error_line, run, succeed

REGRESSIONS = ("power_spectrum", "summary_statistics")
PARAMETERS = {"omega_m": (0.25, 0.35), "sigma8": (0.78, 0.95), "n_s": (0.9, 1.0)}


class Baselines(PipelineTest):
    UNIVERSES = 48

    @classmethod
    def sim_words(cls):
        words = super().sim_words()
        words[words.index("--box") + 1] = 384  # a box of 128 has little information
        return words

    @classmethod
    def prep_words(cls):
        return ["shard", "--input", cls.sim, "--validation", 2, "--test", 12]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = cls.root / "model"
        succeed("cosmo-train", *cls.train_words(), "--epochs", 1, "--output", cls.model)

    def infer(self, name, *words, ranks=1, data=None):
        output = self.root / name
        succeed("cosmo-infer", "--model", self.model, "--data", data or self.data, "--output", output, *words,
                ranks=ranks)
        return json.loads((output / "metrics.json").read_text())

    def test_the_figures_follow_from_the_tables(self):
        metrics = self.infer("tables")
        truth = {}
        with open(self.root / "tables/predictions.csv") as file:
            for row in csv.DictReader(file):
                truth[row["simulation"], row["subvolume"]] = truth[row["simulation"], "-1"] = [
                    float(row[f"true_{name}"]) for name in PARAMETERS]
        errors = {}
        with open(self.root / "tables/baselines.csv") as file:
            for row in csv.DictReader(file):
                place = row["simulation"], row["subvolume"]
                errors.setdefault((row["method"], row["subvolume"] == "-1"), []).append(
                    [float(row[f"predicted_{name}"]) - true for name, true in zip(PARAMETERS, truth[place])])
        for whole, figures in ((True, metrics), (False, metrics["per_subvolume"])):
            self.assertEqual({method for method, of_universes in errors if of_universes == whole}, set(figures["baselines"]))
            for method, found in figures["baselines"].items():
                rms = np.sqrt(np.mean(np.square(errors[method, whole]), axis=0))
                for name, value in zip(PARAMETERS, rms):
                    self.assertAlmostEqual(found[name]["rmse"], value, places=12)

    def test_all_methods_are_there_and_the_power_spectrum_predicts_sigma8(self):
        metrics = self.infer("all", "--threads", 1)
        whole = {"centre"} | {f"{prefix}{name}" for prefix in ("", "universe_") for name in REGRESSIONS}
        for figures, methods in ((metrics, whole), (metrics["per_subvolume"], {"centre", *REGRESSIONS})):
            self.assertEqual(set(figures["baselines"]), methods)
            self.assertEqual(set(figures["paired"]), methods)
            centre = figures["baselines"]["centre"]["sigma8"]
            for method in methods - {"centre"}:
                found = figures["baselines"][method]["sigma8"]
                self.assertLess(found["relative_error"] + found["relative_error_se"], centre["relative_error"], method)
                self.assertGreater(found["slope"], 0.5)
            for name in PARAMETERS:
                for method in methods:
                    paired, mae = figures["paired"][method][name], figures["baselines"][method][name]["mae"]
                    difference = figures["network"][name]["mae"] - mae
                    self.assertAlmostEqual(paired["mae_difference"], difference, places=9)
                    self.assertGreater(paired["mae_difference_se"], 0)
                    self.assertTrue(0 <= paired["fraction_better"] <= 1)

        self.check_same_on_other_ranks_and_threads()

    def check_same_on_other_ranks_and_threads(self):
        ours = contents(self.root / "all")
        for name, ranks, threads in (("threads", 1, 2), ("ranks", 2, 1), ("three", 3, 1)):
            self.infer(name, "--threads", threads, ranks=ranks)
            self.assertEqual(contents(self.root / name)["metrics.json"], ours["metrics.json"], name)

    def test_the_paired_share_of_the_centre_follows_from_the_predictions(self):
        metrics = self.infer("centre", "--baselines", "centre")
        self.assertEqual(set(metrics["baselines"]), {"centre"})
        self.assertEqual(metrics["forecast"], {})
        rows = list(csv.DictReader((self.root / "centre/predictions.csv").read_text().splitlines()))
        for name, (low, high) in PARAMETERS.items():
            truth, found = (np.array([float(row[f"{kind}_{name}"]) for row in rows]) for kind in ("true", "predicted"))
            better = np.mean(abs(found - truth) < abs((low + high) / 2 - truth))
            self.assertAlmostEqual(metrics["per_subvolume"]["paired"]["centre"][name]["fraction_better"], better)

    def test_forecast_is_a_forecast(self):
        metrics = self.infer("forecast")
        for figures in (metrics, metrics["per_subvolume"]):
            forecast = figures["forecast"]["power_spectrum"]
            self.assertIn("not a bound", forecast["assumptions"])
            self.assertEqual(forecast["universes_used"], 34)
            self.assertAlmostEqual(forecast["k_max"], math.pi / 6, delta=0.02)  # Nyquist of 6 Mpc/h
            for name, (low, high) in PARAMETERS.items():
                # No worse than the prior: a uniform truth about its centre.
                self.assertLess(forecast[name]["sigma"], 1.03 * (high - low) / math.sqrt(12))
                self.assertGreater(forecast[name]["relative_error"], 0)
        sigma8 = [figures["forecast"]["power_spectrum"]["sigma8"]["sigma"] for figures in
                  (metrics, metrics["per_subvolume"])]
        self.assertLess(sigma8[0], sigma8[1])
        self.assertLess(sigma8[0], 0.5 * 0.17 / math.sqrt(12))

    def test_text_shows_the_rows(self):
        done = run("cosmo-infer", "--model", self.model, "--data", self.data, "--output", self.root / "text")
        for title in ("predict the centre", "power spectrum *", "summary statistics *", "forecast of P(k)",
                      "network less"):
            self.assertIn(title, done.stdout)
        dry = ["cosmo-infer", "--model", self.model, "--data", self.data, "--output", self.root / "dry", "--dry-run"]
        self.assertIn("baselines read 272 samples", run(*dry).stdout)
        self.assertNotIn("baselines", run(*dry, "--baselines", "centre").stdout)
        refused = run(*dry, "--baselines", "none")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--baselines", error_line(refused, "cosmo-infer"))

    def test_rolls_and_few_universes(self):
        """Regressions learn from a universe and its rolls alike; with too few universes there is no forecast."""
        rolled, few = self.root / "rolled", self.root / "few"
        succeed("cosmo-prep", *self.prep_words(), "--rolls", 2, "--output", rolled)
        metrics = self.infer("rolled_out", data=rolled)
        found = metrics["baselines"]["universe_summary_statistics"]["sigma8"]["relative_error"]
        self.assertLess(found, metrics["baselines"]["centre"]["sigma8"]["relative_error"])
        self.assertEqual(metrics["forecast"]["power_spectrum"]["universes_used"], 34)
        succeed("cosmo-prep", "shard", "--input", self.sim, "--validation", 2, "--test", 42, "--output", few)
        done = run("cosmo-infer", "--model", self.model, "--data", few, "--output", self.root / "few_out",
                   "--allow-leak")  # data of the same suite, split differently
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("too few for a forecast", done.stderr)
        metrics = json.loads((self.root / "few_out/metrics.json").read_text())
        self.assertEqual(metrics["forecast"], {})
        self.assertIn("power_spectrum", metrics["baselines"])


if __name__ == "__main__":
    unittest.main()
