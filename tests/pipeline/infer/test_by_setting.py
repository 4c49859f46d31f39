"""cosmo-infer's figures for universes of each setting, by an independent sum."""

import csv
import glob
import json
import unittest

import h5py
import numpy as np

from report_page import Page, check_numbers
from toolkit import DirectoryTest, make_once, printed, succeed

PARAMETERS = ["omega_m", "sigma8"]


class BySetting(DirectoryTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        common = ["--omega-m", "0.25:0.35", "--sigma8", "0.78:0.95", "--box", 128, "--particles", 16, "--grid", 16]
        cls.few, cls.many = cls.root / "few", cls.root / "many"
        make_once(cls.root,
                  ["cosmo-sim", "generate", "--simulations", 100, *common, "--steps", "2,3", "--force-kernel", "two-point,four-point", "--output", cls.few],
                  ["cosmo-sim", "generate", "--simulations", 60, *common, "--steps", "2,3", "--z-initial", "5:9", "--seed", 2, "--output", cls.many])
        cls.model = cls.root / "model"
        cls.shard(cls.few, 40, 16)
        cls.shard(cls.many, 30, 10)
        (cls.root / "small.json").write_text(json.dumps({"name": "small", "input": "grid", "layers": [
            {"name": "a", "inputs": ["grid"], "kind": "convolution", "outputs": 16, "kernel": 3, "stride": 1, "padding": 1, "slope": 0.1},
            {"name": "b", "inputs": ["a"], "kind": "average_pool", "size": 4, "stride": 4},
            {"name": "parameters", "inputs": ["b"], "kind": "dense", "outputs": 0, "slope": 1}]}))
        succeed("cosmo-train", "--data", cls.data_of(cls.few), "--output", cls.model, "--network", cls.root / "small.json", "--epochs", 3,
                "--global-batch", 8, "--baseline", "none")

    @classmethod
    def data_of(cls, sim):
        return cls.root / f"{sim.name}-data"

    @classmethod
    def shard(cls, sim, test, validation):
        succeed("cosmo-prep", "shard", "--input", sim, "--subvolumes", 1, "--validation", validation, "--test", test, "--output", cls.data_of(sim))

    def infer(self, sim):
        output = self.root / f"of-{sim.name}"
        text = printed("cosmo-infer", "--model", self.model, "--data", self.data_of(sim), "--output", output, "--baselines", "centre")
        metrics = json.loads((output / "metrics.json").read_text())
        page = Page((output / "report.html").read_text())
        self.assertIn("holds", page.ids)
        self.assertTrue({f"settings.{s}.{name}.bias_deviations" for s in range(len(metrics["settings"])) for name in PARAMETERS}
                        <= check_numbers(page, metrics))
        self.assertTrue((output / "figures/settings.svg").exists())
        return text, metrics, list(csv.DictReader((output / "universes.csv").read_text().splitlines()))

    def settings_of(self, sim):
        """{simulation: {setting: value}}"""
        found = {}
        for path in glob.glob(str(self.data_of(sim) / "test/*.h5")):
            with h5py.File(path) as file:
                names = [name.decode() if isinstance(name, bytes) else name for name in file["settings"].attrs["names"]]
                for simulation, values in zip(file["simulation"][...], file["settings"][...]):
                    found[int(simulation)] = {}
                    for name, value in zip(names, values):
                        texts = file["settings"].attrs.get(name)
                        found[int(simulation)][name] = value if texts is None else texts[int(value)]
        return found

    def assert_figures(self, entry, rows):
        errors = json.loads((self.model / "manifest.json").read_text())["posterior"]["of_universes"]["held_out_rmse"]
        own = [errors[name] for name in PARAMETERS]
        self.assertEqual(entry["universes"], len(rows))
        for p, name in enumerate(PARAMETERS):
            error = np.array([float(row[f"predicted_{name}"]) - float(row[f"true_{name}"]) for row in rows])
            self.assertAlmostEqual(entry[name]["bias_deviations"], error.mean() / own[p], delta=1e-5)
            self.assertAlmostEqual(entry[name]["bias_deviations_se"], error.std(ddof=1) / len(rows)**0.5 / own[p],
                                   delta=0.15 * error.std() / len(rows)**0.5 / own[p])

    def test_the_unit_is_the_error_of_the_posterior_on_validation_universes(self):
        """By predicting them: their rows differ from those of the fits by folds by little."""
        output = self.root / "of-validation"
        succeed("cosmo-infer", "--model", self.model, "--data", self.data_of(self.few), "--split", "validation", "--output", output,
                "--baselines", "centre")
        rows = list(csv.DictReader((output / "universes.csv").read_text().splitlines()))
        errors = json.loads((self.model / "manifest.json").read_text())["posterior"]["of_universes"]["held_out_rmse"]
        for name in PARAMETERS:
            rms = np.mean([(float(row[f"predicted_{name}"]) - float(row[f"true_{name}"]))**2 for row in rows])**0.5
            self.assertAlmostEqual(errors[name] / rms, 1, delta=0.25)
        with h5py.File(self.model / "posterior.h5") as file:
            low, high = np.array([[0.25, 0.35], [0.78, 0.95]]).T
            np.testing.assert_allclose(file["of_universes"].attrs["held_out_error"] * (high - low) / 2,
                                       [errors[name] for name in PARAMETERS], rtol=1e-12)

    def test_few_combinations_have_an_entry_each(self):
        text, metrics, rows = self.infer(self.few)
        settings = self.settings_of(self.few)
        self.assertEqual(len(metrics["settings"]), 4)
        for entry in metrics["settings"]:
            self.assertIn(f"force kernel {entry['setting']['force_kernel']}, steps {entry['setting']['steps']:g}", text)
            self.assert_figures(entry, [row for row in rows if settings[int(row["simulation"])] == entry["setting"]])
        self.assertEqual(sum(entry["universes"] for entry in metrics["settings"]), 40)

    def test_a_model_that_is_to_be_robust_learns_from_several_settings(self):
        output = self.root / "robust"
        succeed("cosmo-train", "--data", self.data_of(self.few), "--output", output, "--network", self.root / "small.json", "--epochs", 1,
                "--global-batch", 8, "--recipe", "robust")
        self.assertEqual(json.loads((output / "manifest.json").read_text())["config"]["recipe"], "robust")

    def test_many_are_shown_by_value_and_by_thirds(self):
        _, metrics, rows = self.infer(self.many)
        settings = self.settings_of(self.many)
        self.assertEqual([list(entry["setting"]) for entry in metrics["settings"]], [["steps"]] * 2 + [["z_initial"]] * 3)
        for entry in metrics["settings"]:
            [(name, values)] = entry["setting"].items()
            low, high = values if isinstance(values, list) else (values, values)
            self.assert_figures(entry, [row for row in rows if low <= settings[int(row["simulation"])][name] <= high])
        self.assertEqual([entry["universes"] for entry in metrics["settings"][2:]], [10, 10, 10])


if __name__ == "__main__":
    unittest.main()
