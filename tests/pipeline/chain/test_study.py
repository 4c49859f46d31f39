"""The study's script with its own settings made small: every stage, the tables at the end, the same command again."""

import csv
import json
import re
import shutil
import subprocess
import sys
import unittest

from toolkit import BIN, ENVIRONMENT, ROOT, DirectoryTest, small_settings

STUDY = ROOT / "pipelines/study"
SMALLER = {"sim.ini": {"simulations": 43, "particles": 32, "grid": 32},
           "cheap.ini": {"simulations": 7, "particles": 32, "grid": 32, "steps": 3},
           "finer.ini": {"particles": 32, "grid": 32, "mesh": 64, "steps": 12},
           "prep.ini": {"validation": 3, "test": 7},
           "train.ini": {"network": "cosmonet32", "global-batch": 4},
           "voxels.ini": {"simulations": 8, "particles": 32, "grid": 64},
           "mixed.ini": {},
           "sizes.env": {"seeds": '"1 2"', "curve": '"4:1 6:1"', "curve_seeds": '"1"', "epochs": 1, "finer_universes": 4,
                         "cheap_held_out": 2, "cheap_epochs": 8, "tuned_universes": 4, "tuned_epochs": 1,
                         "views_test": 2, "views": '"1:cosmonet64:1:4 2:cosmonet32:1:4"',
                         "voxels_grids": '"32 64"', "voxels_validation": 2, "voxels_test": 2, "limits_batch": 4,
                         "limits": '"voxels32:cosmonet32:2 voxels64:cosmonet64:1"'}}


class Study(DirectoryTest):
    LABELS = ("slow",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        small_settings(STUDY, SMALLER, cls.root / "settings")
        cls.out = cls.root / "a study"
        cls.first = cls.run_study()
        cls.tables = (cls.out / "tables.md").read_text()

    @classmethod
    def run_study(cls):
        done = subprocess.run(["bash", STUDY / "study.sh", BIN, cls.out, cls.root / "settings"], env=ENVIRONMENT,
                              capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def metrics(self, name):
        return json.loads((self.out / f"predictions/{name}/metrics.json").read_text())

    def row(self, title, section):
        """Numbers of the first row with a title below a heading that begins so."""
        text = self.tables[self.tables.index(f"## {section}"):]
        cells = re.search(rf"(?m)^\| {re.escape(title)} \| (.*) \|$", text)[1].split(" | ")
        return [float(cell.split(" ")[0]) for cell in cells]

    def test_tables_are_those_of_the_inferences(self):
        runs = [self.metrics(f"all-{seed}") for seed in (1, 2)]
        for title, of in (("regression on P(k)", lambda run: run["baselines"]["power_spectrum"]),
                          ("regression on all statistics", lambda run: run["baselines"]["summary_statistics"]),
                          ("network", lambda run: run["baselines"]["network_alone"]),
                          ("network and statistics", lambda run: run["network"])):
            expected = [sum(of(run)[name]["relative_error"] for run in runs) / 2 for name in ("omega_m", "sigma8", "n_s")]
            for found, error in zip(self.row(title, "2 trainings on all universes, 7 test universes"), expected):
                self.assertAlmostEqual(found, error, delta=6e-5, msg=title)
        for title in ("networks of two seeds", "network and regression on all statistics"):
            self.assertTrue(all(-1 <= found <= 1 for found in self.row(title, "2 trainings")))
        ratio = self.row("network and statistics, seed 1", "2 trainings")
        expected = runs[0]["network"]["sigma8"]["relative_error"] / runs[0]["baselines"]["power_spectrum"]["sigma8"]["relative_error"]
        self.assertAlmostEqual(ratio[1], expected, delta=6e-4)
        coverage = runs[0]["uncertainty"]["coverage"]["omega_m"]["within_1_sigma"]
        self.assertAlmostEqual(self.row("68.3 %", "Posteriors")[0], 100 * coverage, delta=0.06)

    def test_the_learning_curve(self):
        for universes in (4, 6):
            manifest = json.loads((self.out / f"data-{universes}/manifest.json").read_text())
            self.assertEqual(len(manifest["splits"]["train"]["seeds"]), universes)
            error = self.metrics(f"{universes}-1")["baselines"]["power_spectrum"]["omega_m"]["relative_error"]
            self.assertAlmostEqual(self.row(f"{universes}: regression on P(k)", "Training universes")[0], error, delta=6e-5)
        self.assertEqual(self.row("33: network", "Training universes"), self.row("network", "2 trainings"))

    def test_finer_universes_are_those_of_the_test_split(self):
        splits = {name: json.loads((self.out / f"{name}/manifest.json").read_text())["splits"] for name in ("data", "mixed-data")}
        self.assertEqual(sorted(splits["mixed-data"]["train"]["seeds"]), sorted(splits["data"]["train"]["seeds"]))
        tested = set(splits["mixed-data"]["test"]["seeds"])
        self.assertEqual(len(tested), 4)
        self.assertLess(tested, set(splits["data"]["test"]["seeds"]))
        error = self.metrics("finer-1")["baselines"]["power_spectrum"]["sigma8"]["relative_error"]
        found = self.row("regression on P(k), finer", "4 test universes, simulated in finer")[1]
        self.assertAlmostEqual(found, error, delta=6e-5)
        self.assertNotEqual(found, self.row("regression on P(k), as trained", "4 test universes")[1])

    def test_fine_tuning(self):
        section = "Pre-training on cheap universes"
        error = self.metrics("tuned-1")["network"]["sigma8"]["relative_error"]
        self.assertAlmostEqual(self.row("network and statistics, pre-trained", section)[1], error, delta=6e-5)
        error = self.metrics("6-1")["baselines"]["network_alone"]["n_s"]["relative_error"]
        self.assertAlmostEqual(self.row("network, 6 alone", section)[2], error, delta=6e-5)
        self.assertIn("init_from", json.loads((self.out / "model/tuned-1/manifest.json").read_text())["config"])

    def test_voxels_and_time(self):
        for number, title in ((1, "8 Mpc/h, 4 universes, 2 epochs"), (2, "4 Mpc/h, 4 universes, 1 epochs")):
            run = self.metrics(f"limit-{number}")
            of = run["baselines"]
            for method, error in (("regression on P(k)", of["power_spectrum"]), ("network", of["network_alone"]), ("network and statistics", run["network"])):
                found = self.row(f"{title}: {method}", "Voxels and time")[1]
                self.assertAlmostEqual(found, error["sigma8"]["relative_error"], delta=6e-5)

    def test_whole_boxes_and_sub_volumes(self):
        whole, cut = self.metrics("view-1"), self.metrics("view-2")
        self.assertEqual((whole["samples"], cut["samples"]), (2, 16))
        for title, error in (("whole boxes, batches of 4: network", whole["baselines"]["network_alone"]),
                             ("8 sub-volumes, batches of 4: network", cut["baselines"]["network_alone"]),
                             ("8 sub-volumes, batches of 4: regression on P(k) of universes", cut["baselines"]["universe_power_spectrum"])):
            found = self.row(title, "Whole boxes and sub-volumes")[1]
            self.assertAlmostEqual(found, error["sigma8"]["relative_error"], delta=6e-5, msg=title)
        ratio = cut["network"]["sigma8"]["relative_error"] / whole["network"]["sigma8"]["relative_error"]
        text = self.tables[self.tables.index("ratio to the same from whole boxes"):]
        self.assertIn(f"8 sub-volumes, batches of 4: network and statistics | ", text)
        cells = re.search(r"batches of 4: network and statistics \| (.*) \|", text)[1].split(" | ")
        self.assertAlmostEqual(float(cells[1].split(" ")[0]), ratio, delta=6e-4)

    def test_no_model_has_learned_from_test_universes(self):
        tested = set(json.loads((self.out / "data/manifest.json").read_text())["splits"]["test"]["seeds"])
        models = list((self.out / "model").iterdir())
        self.assertGreater(len(models), 6)
        for model in models:
            seeds = json.loads((model / "manifest.json").read_text())["seeds"]
            self.assertTrue(tested.isdisjoint(seeds["train"] + seeds["validation"]), model)

    def test_costs(self):
        with open(self.out / "costs.csv", newline="") as file:
            made = list(csv.reader(file))
        self.assertTrue({"sim", "data", "model/all-1", "predictions/finer-2", "cheap"} <= {row[0] for row in made})
        for name, wall, cpu in made:
            self.assertGreater(float(wall), 0, name)
            self.assertGreater(float(cpu), 0, name)

    def test_again(self):
        again = self.run_study()
        stages = again.count("\n== ") + 1
        self.assertEqual(stages, self.first.count("\n== ") + 1)
        self.assertEqual(again.count("is up to date\n"), stages, again)

    def test_tables_of_half_a_study(self):
        half = self.root / "half"
        shutil.copytree(self.out / "predictions/all-2", half / "predictions/all-2")
        shutil.copy(self.out / "costs.csv", half)
        words = [sys.executable, STUDY / "tables.py", "tables"]
        text = subprocess.run([*words, half], capture_output=True, text=True, check=True).stdout
        self.assertEqual(re.findall(r"(?m)^## (\w+)", text), ["1", "Costs"])
        done = subprocess.run([*words, self.root], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("run study.sh first", done.stderr)

    def test_a_design_without_so_many_universes(self):
        done = subprocess.run([sys.executable, STUDY / "tables.py", "design", self.out, "6"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("fewer than 8 test universes: lower finer_universes", done.stderr)


class Usage(unittest.TestCase):
    def test_usage(self):
        done = subprocess.run(["bash", STUDY / "study.sh", BIN], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (2, "Usage: study.sh BIN OUTPUT [SETTINGS]\n"))
        for words, sentence in (([STUDY, "never"], f"{STUDY}/cosmo-sim is missing: give the directory of the tools."),
                                ([BIN, "never", BIN], f"{BIN}/sizes.env cannot be read: give a copy of this script's directory.")):
            done = subprocess.run(["bash", STUDY / "study.sh", *words], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (4, f"study.sh: {sentence}\n"))
        for words in ([], ["tables"], ["design", "study", "many"]):
            done = subprocess.run([sys.executable, STUDY / "tables.py", *words], capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertIn("tables.py design STUDY N", done.stderr)


class Settings(unittest.TestCase):
    def test_all_are_tried(self):
        self.assertEqual({path.name for path in STUDY.iterdir() if path.suffix in (".ini", ".env")}, SMALLER.keys())


if __name__ == "__main__":
    unittest.main()
