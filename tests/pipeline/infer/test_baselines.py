"""Baselines, paired differences and the forecast beside the network's error."""

import csv
import hashlib
import json
import math
import shutil
import unittest

import h5py
import numpy as np

from toolkit import PipelineTest, contents, cosmo_train, error_line, run, succeed

REGRESSIONS = ("power_spectrum", "summary_statistics")
PARAMETERS = {"omega_m": (0.25, 0.35), "sigma8": (0.78, 0.95), "n_s": (0.9, 1.0)}


class Baselines(PipelineTest):
    LABELS = ("slow",)
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

    def infer(self, name, *words, ranks=1, data=None, model=None):
        output = self.root / name
        succeed("cosmo-infer", "--model", model or self.model, "--data", data or self.data, "--output", output, *words,
                ranks=ranks)
        return json.loads((output / "metrics.json").read_text())

    @classmethod
    def of_earlier_version(cls):
        """The model as version 0.2.0 left it."""
        earlier = cls.root / "earlier"
        if not earlier.exists():
            shutil.copytree(cls.model, earlier)
            (earlier / "baselines.h5").unlink()
            manifest = json.loads((earlier / "manifest.json").read_text())
            manifest["files"] = [file for file in manifest["files"] if file["path"] != "baselines.h5"]
            (earlier / "manifest.json").write_text(json.dumps(manifest))
        return earlier

    @classmethod
    def few(cls):
        """The same universes, four of them to train on."""
        few = cls.root / "few"
        if not few.exists():
            succeed("cosmo-prep", "shard", "--input", cls.sim, "--validation", 2, "--test", 42, "--output", few)
        return few

    def test_the_model_keeps_its_baselines(self):
        recorded = {file["path"]: file for file in json.loads((self.model / "manifest.json").read_text())["files"]}
        content = (self.model / "baselines.h5").read_bytes()
        self.assertEqual(recorded["baselines.h5"]["sha256"], hashlib.sha256(content).hexdigest())
        with h5py.File(self.model / "baselines.h5") as file:
            self.assertEqual(file.attrs["universes"], 34)
            self.assertEqual(file.attrs["samples"], 272)
            self.assertEqual(set(file), {"k", "information_of_universes", "information_of_subvolumes"} |
                             {f"{prefix}{name}" for prefix in ("", "universe_") for name in REGRESSIONS})
        for name, ranks, stop in (("two", 2, ()), ("four", 4, ()), ("parts", 1, ("--time-limit", 0))):
            other = self.root / f"model-{name}"
            cosmo_train(*self.train_words(), "--epochs", 1, *stop, "--output", other, ranks=ranks)
            self.assertEqual((other / "baselines.h5").read_bytes(), content, name)
        again = run("cosmo-train", *self.train_words(), "--epochs", 1, "--output", self.root / "model-parts")
        self.assertNotIn("regressions to compare the network with: learned", again.stderr)  # they are there
        self.assertEqual((self.root / "model-parts/baselines.h5").read_bytes(), content)

    def test_a_model_is_compared_with_what_its_own_universes_teach(self):
        own, elsewhere = self.infer("own"), self.infer("elsewhere", "--allow-leak", data=self.few())
        self.assertEqual(own["baselines_from"], elsewhere["baselines_from"])
        self.assertEqual((own["baselines_from"]["source"], own["baselines_from"]["universes"]), ("model", 34))
        self.assertEqual(own["forecast"], elsewhere["forecast"])

        def predicted(name):
            with open(self.root / name / "baselines.csv") as file:
                return {(row["method"], row["simulation"], row["subvolume"]): row for row in csv.DictReader(file)}
        here, there = predicted("own"), predicted("elsewhere")
        both = set(here) & set(there)
        self.assertGreater(len(both), 100)
        for place in both:
            self.assertEqual(here[place], there[place])
        self.assertIn("34 training universes of the model", (self.root / "own/report.html").read_text())
        damaged = self.root / "damaged"
        shutil.copytree(self.model, damaged)
        with open(damaged / "baselines.h5", "r+b") as file:
            file.seek(-9, 2)
            file.write(b"?")
        done = run("cosmo-infer", "--model", damaged, "--data", self.data, "--output", self.root / "never")
        self.assertEqual(done.returncode, 5)
        self.assertIn("baselines.h5", error_line(done, "cosmo-infer"))
        centre = self.infer("centre_alone", "--baselines", "centre", model=damaged)  # which needs none
        self.assertNotIn("baselines_from", centre)

    def test_without_its_own_it_is_compared_with_those_of_the_data(self):
        metrics = self.infer("of_data", model=self.of_earlier_version())
        self.assertEqual(metrics["baselines_from"]["source"], "data")
        own = self.infer("of_model")
        for figure in ("baselines", "forecast", "paired"):
            self.assertEqual(metrics[figure], own[figure])  # on the data that the model was trained on
        done = run("cosmo-infer", "--model", self.of_earlier_version(), "--data", self.few(), "--allow-leak", "--output", self.root / "few_text")
        self.assertIn("Regressions on 4 training universes", done.stderr)
        self.assertIn("4 training universes of these data, as the model has no baselines.h5", done.stdout)
        self.assertIn("fewer than 32", (self.root / "few_text/report.html").read_text())
        self.assertNotIn("fewer than 32", (self.root / "of_model/report.html").read_text())

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
            self.assertEqual(set(figures["baselines"]) - {"network_alone"}, methods)
            self.assertEqual(set(figures["paired"]) - {"network_alone"}, methods)
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
        self.assertEqual(set(metrics["baselines"]) - {"network_alone"}, {"centre"})
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
        self.assertIn("baselines are those of the model", run(*dry).stdout)
        earlier = [self.of_earlier_version() if word == self.model else word for word in dry]
        self.assertIn("baselines read 272 samples", run(*earlier).stdout)
        self.assertNotIn("baselines", run(*dry, "--baselines", "centre").stdout)
        refused = run(*dry, "--baselines", "none")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--baselines", error_line(refused, "cosmo-infer"))

    def test_rolls_and_few_universes(self):
        """Regressions learn from a universe and its rolls alike; with too few universes there is no forecast."""
        rolled, earlier = self.root / "rolled", self.of_earlier_version()
        succeed("cosmo-prep", *self.prep_words(), "--rolls", 2, "--output", rolled)
        metrics = self.infer("rolled_out", data=rolled, model=earlier)
        found = metrics["baselines"]["universe_summary_statistics"]["sigma8"]["relative_error"]
        self.assertLess(found, metrics["baselines"]["centre"]["sigma8"]["relative_error"])
        self.assertEqual(metrics["forecast"]["power_spectrum"]["universes_used"], 34)
        done = run("cosmo-infer", "--model", earlier, "--data", self.few(), "--output", self.root / "few_out",
                   "--allow-leak")  # data of the same suite, split differently
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("too few for a forecast", done.stderr)
        metrics = json.loads((self.root / "few_out/metrics.json").read_text())
        self.assertEqual(metrics["forecast"], {})
        self.assertIn("power_spectrum", metrics["baselines"])


if __name__ == "__main__":
    unittest.main()
