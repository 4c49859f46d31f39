"""report.html: its numbers are those of metrics.json, it needs nothing else, and it warns of data that the model has seen."""

import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from report_page import check_page
from toolkit import BIN, PipelineTest, contents, error_line, run, succeed

FIGURES = {"scaled_error", "scaled_error_se", "relative_error", "relative_error_se", "mae", "mae_se", "rmse", "rmse_se", "bias", "bias_se", "slope",
           "slope_se"}
METHODS = ["network", "baselines.centre"]


class MadeUp(unittest.TestCase):
    """Reports of tests/infer/make_report.cpp, with every section and with the fewest."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="cosmo-report-")
        self.addCleanup(holder.cleanup)
        self.root = pathlib.Path(holder.name)

    def make(self, *words):
        subprocess.run([BIN.parent / "tests" / "make_report", self.root, *words], check=True)
        metrics = json.loads((self.root / "metrics.json").read_text())
        return *check_page(self.root, metrics), metrics

    def test_every_section_has_the_numbers_of_metrics(self):
        page, places, files, metrics = self.make()
        self.assertEqual(page.ids, {"errors", "predictions", "paired", "uncertainty", "measures", "settings", "holds", "costs",
                                    "provenance"})
        self.assertLessEqual({f"settings.{s}.{name}.bias_deviations" for s in (0, 1) for name in metrics["network"]}, places)
        self.assertIn("<b>kernel two-point & <i>, mesh cell 2.667 Mpc/h", page.text)
        names = list(metrics["network"])
        for method in [*METHODS, "baselines.power_spectrum"]:
            self.assertLessEqual({f"{method}.{name}.{figure}" for name in names for figure in FIGURES}, places)
        self.assertLessEqual({f"forecast.power_spectrum.{name}.scaled_error" for name in names}, places)
        self.assertLessEqual({f"paired.{method}.{name}.{figure}" for method in ("power_spectrum", "centre")
                              for name in names
                              for figure in ("mae_difference", "mae_difference_se", "fraction_better")}, places)
        self.assertLessEqual({f"uncertainty.coverage.{name}.within_{n}_sigma{se}" for name in names for n in (1, 2)
                              for se in ("", "_se")}, places)
        self.assertLessEqual({"samples", "universes", "uncertainty.negative_log_likelihood",
                              "uncertainty.calibration.universes",
                              *(f"uncertainty.calibration.scale.{name}" for name in names), *(f"forecast.power_spectrum.{key}" for key in ("k_max", "bins", "universes_used"))}, places)
        self.assertEqual(len(files), 11)
        self.assertIn("level and the curve follows the diagonal", page.text)
        self.assertRegex(page.text, r"bars are: .*outside, σ\S* inside, .*outside; the shares: .*inside, σ\S* outside, .*outside; the curve: outside")
        self.assertEqual(page.alarm, "4 seeds <shared>")
        for text in ("<script>alert(1)</script>", "power spectrum <regression>", "<lost>", "0.390 <h>/Mpc"):
            self.assertIn(text, page.text)  # as text, not as markup
        self.assertIn("cannot be read any more", page.text)
        self.assertEqual(page.text.count("not a bound"), 1)
        self.assertNotIn("relative_error", page.text)
        self.assertIn(("uncertainty.coverage.omega_m.within_2_sigma_se", "—"), page.numbers)
        self.assertIn("A share of 0 or 1 has a dash", page.text)

    def test_what_is_absent_leaves_no_trace(self):
        page, places, _, metrics = self.make("plain")
        self.assertEqual(page.ids, {"errors", "predictions", "measures", "settings", "costs", "provenance"})
        self.assertFalse([place for place in places if place.startswith(("forecast", "paired", "uncertainty"))])
        self.assertEqual(page.alarm, "")
        self.assertNotIn("orecast", page.text)

    def test_names_in_error_figures_are_clear_of_points_and_lines(self):
        self.make()
        svg = (self.root / "errors_0.svg").read_text()
        names = re.findall(r'<text x="[\d.]+" y="([\d.]+)"[^>]*paint-order="stroke"', svg)
        points = re.findall(r'<circle cx="[\d.]+" cy="([\d.]+)" r="([\d.]+)"', svg)
        self.assertEqual((len(names), len(points)), (2, 2))
        for name, (y, radius) in zip(names, points):
            self.assertGreaterEqual(float(y) - float(radius) - float(name), 8)  # room for a p below the line
        for name, (y, radius) in zip(names[1:], points):  # nearer to its own point than to the one above
            self.assertGreater(float(name) - 10 - float(y) - float(radius), 9)
        self.assertGreater(svg.index('paint-order="stroke"'), svg.index("stroke-dasharray"))  # lines are below

    def test_the_same_predictions_make_the_same_page(self):
        self.make()
        first = contents(self.root)
        self.make()
        self.assertEqual(contents(self.root), first)


class Reports(PipelineTest):
    """Reports of real runs."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = cls.root / "model"
        succeed("cosmo-train", *cls.train_words(), "--epochs", 2, "--output", cls.model)

    def infer(self, name, *words, data=None, model=None, ranks=1):
        output = self.root / name
        succeed("cosmo-infer", "--model", model or self.model, "--data", data or self.data, "--output", output, *words,
                ranks=ranks)
        metrics = json.loads((output / "metrics.json").read_text())
        return *check_page(output, metrics), metrics

    def test_the_report_of_a_run(self):
        page, places, files, metrics = self.infer("predictions")
        manifest = json.loads((self.root / "predictions" / "manifest.json").read_text())
        self.assertLessEqual({"report.html"} | files, {file["path"] for file in manifest["files"]})
        self.assertEqual(page.ids, {"errors", "predictions", "paired", "uncertainty", "measures", "training", "universes",
                                    "settings", "holds", "costs", "provenance"})
        for method in METHODS:
            self.assertLessEqual({f"{prefix}{method}.{name}.scaled_error" for name in metrics["network"]
                                  for prefix in ("", "per_subvolume.")}, places)
        self.assertEqual((metrics["leak"], metrics["in_sample"], page.alarm), (None, False, ""))
        for directory in (self.sim, self.data, self.model):  # all stages: identities and settings
            upstream = json.loads((directory / "manifest.json").read_text())
            self.assertIn(upstream["id"], page.text)
        for text in ("particles per side64", "steps3", "0.25 to 0.35", "subvolumes2", "adamw", "epochs2",
                     "cosmoflow32", "useful Gflop/s"):
            self.assertIn(text, page.text)
        self.assertIn("conv1", page.text)
        self.assertRegex(page.text, "[0-9]+ universes/hour")
        self.assertEqual(metrics["forecast"], {})
        self.assertRegex(page.text, "There is no P\\(k\\) forecast: .* it takes at least 34")
        self.assertIn("Nothing was fitted to make them right: rms errors on 2 validation universes", page.text)
        self.assertNotIn("calibrated", page.text)
        self.assertIn("what this inference took is in run.json", page.text)
        self.assertIn(manifest["id"], page.text)
        self.assertEqual({file for file in files if file.endswith(".png")},
                         {f"figures/universe_{row:05}.png" for row in
                          json.loads((self.data / "manifest.json").read_text())["splits"]["test"]["simulations"]})

    def test_a_phone_has_room(self):
        self.infer("narrow")
        html = (self.root / "narrow" / "report.html").read_text()
        self.assertNotRegex(html, r"img \{[^}]*min-width")  # figures shrink to the page
        table = re.search(r'<table class="tall">.*?</table>', html, re.DOTALL).group()
        columns = re.findall("<th>([^<]*)</th>", table)[1:]
        self.assertEqual(columns[0], "time")
        cells = re.findall('<td data-column="([^"]*)">', table)
        self.assertEqual(cells, 3 * columns)  # one row per earlier stage

    def test_methods_are_explained(self):
        page, *_ = self.infer("explained")
        for text in ("cross-validation within the training universes", "*: the statistics are averaged"):
            self.assertIn(text, page.text)
        done = run("cosmo-infer", "--model", self.model, "--data", self.data, "--output", self.root / "both-lines")
        self.assertIn("* from the mean of a universe's statistics", done.stdout)

    def test_what_is_not_there_is_not_explained(self):
        page, *_ = self.infer("centre", "--baselines", "centre")
        self.assertIn("predict the centre: the centre of each", page.text)
        self.assertNotIn("*", page.text)
        self.assertNotIn("ridge", page.text)
        self.assertIn("were left out by --baselines centre", page.text)
        done = run("cosmo-infer", "--model", self.model, "--data", self.data, "--output", self.root / "centre-lines",
                   "--baselines", "centre")
        self.assertIn("predict the centre", done.stdout)
        self.assertNotIn("*", done.stdout)

    def test_a_split_of_one_universe_has_no_errors_of_errors(self):
        data, output = self.root / "lonely", self.root / "predictions-lonely"
        succeed("cosmo-prep", "shard", "--input", self.sim, "--validation", 1, "--test", 1, "--output", data)
        done = run("cosmo-infer", "--model", self.model, "--data", data, "--output", output, "--allow-leak")
        self.assertEqual(done.returncode, 0, done.stderr)
        metrics = json.loads((output / "metrics.json").read_text())
        page, places, files = check_page(output, metrics)
        self.assertEqual(metrics["universes"], 1)
        self.assertIsNone(metrics["network"]["omega_m"]["scaled_error_se"])
        self.assertIn(("network.omega_m.scaled_error", f"{metrics['network']['omega_m']['scaled_error']:.4f}"),
                      page.numbers)
        self.assertIn(("network.omega_m.scaled_error_se", "—"), page.numbers)
        self.assertFalse([place for place in places if place.endswith("fraction_better")])
        self.assertNotRegex(page.text, r"(?<!\d)1 universes")  # but 14251 universes/hour
        for file in files:
            if "errors" in file:  # grey and blue lines would be error bars
                self.assertNotRegex((output / file).read_text(), '<line[^>]*stroke="#(0072b2|6b6f76)"')
        self.assertRegex(done.stdout, r"network +\d\.\d{3} ± — ")
        self.assertNotRegex(done.stdout + done.stderr, r"\b(nan|inf)\b")

    def test_ranks_and_threads_write_the_same_bytes(self):
        self.infer("one")
        self.infer("two", "--threads", 1, ranks=2)
        self.infer("more", "--threads", 3)
        self.assertEqual(contents(self.root / "one"), contents(self.root / "two"))
        self.assertEqual(contents(self.root / "one"), contents(self.root / "more"))

    def test_inputs_that_are_gone_are_named(self):
        moved = self.root / "elsewhere"
        shutil.copytree(self.data, moved / "data")
        page, *_ = self.infer("elsewhere/predictions", data=moved / "data")
        self.assertIn("../sim/manifest.json", page.text)
        self.assertIn("cannot be read any more: what was run there is not shown", page.text)
        self.assertNotIn("particles per side", page.text.replace("cosmo-train", ""))

    def test_splits_that_the_model_was_made_from_are_marked(self):
        for split, words in (("train", "trained on these very universes"), ("validation", "chose the network")):
            page, _, _, metrics = self.infer(f"predictions-{split}", "--split", split)
            self.assertIn(words, page.alarm)
            self.assertTrue(metrics["in_sample"])
            self.assertIsNone(metrics["leak"])
            done = run("cosmo-infer", "--model", self.model, "--data", self.data, "--split", split, "--output",
                       self.root / f"predictions-{split}")
            self.assertIn(words, done.stderr)


class Leaks(PipelineTest):
    """Universes of other parameters and the same seeds are refused, or marked."""

    UNIVERSES = 10

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = cls.root / "model"
        succeed("cosmo-train", *cls.train_words(), "--epochs", 1, "--output", cls.model)
        rows = [f"{0.26 + 0.008 * i},{0.8 + 0.01 * i},{100 + i % 5}" for i in range(cls.UNIVERSES)]
        (cls.root / "twins.csv").write_text("omega_m,sigma8,seed\n" + "\n".join(rows) + "\n")
        cls.twins = cls.root / "twins"
        cls.sim_twins = ["generate", "--design", cls.root / "twins.csv", "--box", 128, "--particles", 64, "--steps", 2,
                         "--grid", 64]
        succeed("cosmo-sim", *cls.sim_twins, "--output", cls.twins, "--allow-leak")
        cls.leaking = cls.root / "leaking"
        cls.shard_twins = ["shard", "--input", cls.twins, "--validation", 2, "--test", 2]
        cls.leak = succeed("cosmo-prep", *cls.shard_twins, "--output", cls.leaking, "--allow-leak")["leak"]

    def refused(self, parts, tool, *words):
        sentences = set()
        for ranks in (1, 2):
            done = run(tool, *words, ranks=ranks)
            self.assertEqual(done.returncode, 3, done.stderr)
            sentences.add(error_line(done, tool))
        sentence, = sentences
        for part in (*parts, "--allow-leak"):
            self.assertIn(str(part), sentence)
        self.assertFalse((self.root / "never").exists())

    def test_a_suite_of_shared_seeds(self):
        done = run("cosmo-sim", *self.sim_twins, "--output", self.root / "never")
        self.assertEqual(done.returncode, 5)
        for part in ("twins.csv", "repeats the seed 100", "--allow-leak"):
            self.assertIn(part, error_line(done, "cosmo-sim"))

    def test_a_dataset_of_shared_seeds(self):
        for words in ([], ["--dry-run"]):
            self.refused(["share the seed"], "cosmo-prep", *self.shard_twins, "--output", self.root / "never", *words)
        manifest = json.loads((self.leaking / "manifest.json").read_text())
        self.assertTrue(manifest["config"]["allow_leak"])
        self.assertEqual(manifest["leak"], self.leak)
        self.assertGreater(self.leak["seeds"], 0)
        self.assertIn("train and ", self.leak["between"])
        self.assertTrue(succeed("cosmo-prep", "verify", self.leaking)["verified"])

    def test_a_flag_without_a_leak_changes_nothing(self):
        output = self.root / "clean"
        succeed("cosmo-prep", *self.prep_words(), "--output", output, "--allow-leak")
        self.assertEqual(contents(output), contents(self.data))

    def test_training_and_predicting_on_it(self):
        words = ["--data", self.leaking, "--network", "cosmoflow32", "--global-batch", 8, "--epochs", 1]
        self.refused([self.leaking, "share the seed"], "cosmo-train", *words, "--output", self.root / "never")
        model = self.root / "leaky-model"
        succeed("cosmo-train", *words, "--output", model, "--allow-leak")
        infer = ["--model", model, "--data", self.leaking]
        self.refused([self.leaking, "seed"], "cosmo-infer", *infer, "--output", self.root / "never")
        self.refused([self.leaking, "seed"], "cosmo-infer", *infer, "--output", self.root / "never", "--dry-run")
        for ranks in (1, 2):
            output = self.root / f"leaky-{ranks}"
            done = run("cosmo-infer", *infer, "--output", output, "--allow-leak", ranks=ranks)
            self.assertEqual(done.returncode, 0, done.stderr)
            metrics = json.loads((output / "metrics.json").read_text())
            page, *_ = check_page(output, metrics)
            self.assertGreater(metrics["leak"]["seeds"], 0)
            self.assertIn("test", metrics["leak"]["between"])
            self.assertIn(f"share {metrics['leak']['seeds']} seed", page.alarm)
            self.assertIn("warning: ", done.stderr)
            self.refused([], "cosmo-infer", *infer, "--output", output)  # also if it is there already

    def test_a_clean_dataset_of_universes_that_the_model_has_seen(self):
        other = self.root / "other-split"
        succeed("cosmo-prep", *self.prep_words(), "--seed", 5, "--output", other)
        self.assertNotIn("leak", json.loads((other / "manifest.json").read_text()))
        seeds = {name: set(split["seeds"])
                 for name, split in json.loads((other / "manifest.json").read_text())["splits"].items()}
        seen = json.loads((self.model / "manifest.json").read_text())["seeds"]
        shared = seeds["test"] & (set(seen["train"]) | set(seen["validation"]))
        self.assertTrue(shared)
        infer = ["--model", self.model, "--data", other]
        for split in ("test", "train"):  # the training split of another dataset is not this model's
            self.refused([other, f"{split} universes", "the model's training"], "cosmo-infer", *infer, "--split",
                         split, "--output", self.root / "never")
        output = self.root / "seen"
        succeed("cosmo-infer", *infer, "--output", output, "--allow-leak")
        metrics = json.loads((output / "metrics.json").read_text())
        self.assertEqual(metrics["leak"]["seeds"], len(shared))
        page, *_ = check_page(output, metrics)
        self.assertIn("the model's training", page.alarm)


if __name__ == "__main__":
    unittest.main()
