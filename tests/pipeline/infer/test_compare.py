"""cosmo-infer compare: trainings and predictions side by side."""

import html.parser
import json
import shutil
import unittest

from toolkit import DirectoryTest, error_line, run, succeed
import synthetic

USAGE, CONFIG, IO, FORMAT = 2, 3, 4, 5


class Page(html.parser.HTMLParser):
    """The text and the tags of a page."""

    def __init__(self, path):
        super().__init__()
        self.words, self.tags = [], set()
        self.feed(path.read_text())
        self.text = " ".join(" ".join(self.words).split())

    def handle_data(self, data):
        self.words.append(data)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)


class Compare(DirectoryTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.data, cls.other = cls.root / "data", cls.root / "other"
        synthetic.write_fields(cls.data, 36, 32)
        synthetic.write_suite(cls.root / "sim", 12, 32)
        succeed("cosmo-prep", "shard", "--input", cls.root / "sim", "--subvolumes", 1, "--validation", 2, "--test", 2, "--output", cls.other)
        cls.train("a", "--seed", 1)
        cls.train("b", "--seed", 1, "--learning-rate", 0.002, "--loss", "mae")
        cls.train("elsewhere", data=cls.other)
        for name in ("a", "b"):
            succeed("cosmo-infer", "--model", cls.root / name, "--data", cls.data, "--output", cls.root / f"predictions-{name}")

    @classmethod
    def train(cls, name, *words, data=None, batch=8):
        return succeed("cosmo-train", "--data", data or cls.data, "--network", "cosmoflow32", "--global-batch", batch, "--epochs", 3, *words,
                       "--output", cls.root / name)

    def compare(self, *names, words=()):
        return succeed("cosmo-infer", "compare", *(self.root / name for name in names), *words)

    def refused(self, code, *names, words=()):
        done = run("cosmo-infer", "compare", *(self.root / name for name in names), *words)
        self.assertEqual(done.returncode, code, done.stderr)
        return error_line(done, "cosmo-infer")

    def test_two_trainings(self):
        page = self.root / "pages/two.html"
        found = self.compare("a", "b", words=["--html", page])
        self.assertEqual(found["differing"], ["learning_rate", "loss"])
        self.assertTrue(found["comparable"])
        for one in found["runs"]:
            manifest = json.loads((self.root / one["label"] / "manifest.json").read_text())
            for p, name in enumerate(manifest["parameters"]["names"]):
                self.assertAlmostEqual(one["errors"][name]["rmse"], manifest["validation"]["rmse_per_universe"][p])
                self.assertAlmostEqual(one["errors"][name]["scaled_error"], manifest["validation"]["rmse_per_universe"][p] /
                                       manifest["labels"]["standard_deviation"][p])
            history = (self.root / one["label"] / "history.csv").read_text().splitlines()[1:]
            self.assertEqual([f"{point['validation_loss']:.9g}" for point in one["history"]],
                             [f"{float(line.split(',')[4]):.9g}" for line in history])
        text = run("cosmo-infer", "compare", self.root / "a", self.root / "b").stdout
        for part in ("learning_rate", "0.002: b", "loss", "mae: b", "* the smallest", "Losses are of different kinds"):
            self.assertIn(part, text)
        self.assertNotIn("seed", text)
        shown = Page(page)
        self.assertIn("2 runs side by side", shown.text)
        self.assertIn("learning_rate", shown.text)
        self.assertNotIn("script", shown.tags)
        self.assertNotIn("link rel=\"stylesheet\"", page.read_text())

    def test_predictions_beside_each_other_and_beside_a_training(self):
        found = self.compare("predictions-a", "predictions-b")
        self.assertTrue(found["comparable"])
        metrics = json.loads((self.root / "predictions-a/metrics.json").read_text())["network"]
        for name, error in found["runs"][0]["errors"].items():
            self.assertEqual(error["scaled_error"], metrics[name]["scaled_error"])
            self.assertEqual(error["scaled_error_se"], metrics[name]["scaled_error_se"])
        self.assertEqual(found["differing"], ["learning_rate", "loss"])
        mixed = self.compare("a", "predictions-b")
        self.assertFalse(mixed["comparable"])
        self.assertIn("cannot be compared", mixed["notes"][0])

    def test_other_data_and_the_same_run_twice(self):
        found = self.compare("a", "elsewhere")
        self.assertFalse(found["comparable"])
        self.assertIn("data", found["differing"])
        self.assertIn("voxels", found["differing"])
        twice = self.compare("a", "a")
        self.assertEqual(twice["differing"], [])
        self.assertIn("a and a (2) are the same training.", twice["notes"])

    def test_less_training_data_of_the_same_suite_can_be_compared(self):
        less = self.root / "less"
        succeed("cosmo-prep", "shard", "--input", self.root / "sim", "--subvolumes", 1, "--validation", 2, "--test", 2, "--training", 4,
                "--output", less)
        self.train("of-less", data=less, batch=4)
        found = self.compare("elsewhere", "of-less")
        self.assertTrue(found["comparable"], found["notes"])
        self.assertIn("data.training", found["differing"])
        succeed("cosmo-prep", "shard", "--input", self.root / "sim", "--subvolumes", 1, "--validation", 2, "--test", 2, "--seed", 2,
                "--output", self.root / "another-split")
        self.train("of-another-split", data=self.root / "another-split")
        self.assertFalse(self.compare("elsewhere", "of-another-split")["comparable"])

    def test_an_unfinished_training(self):
        self.train("c", "--seed", 2)
        manifest = self.root / "c/manifest.json"
        text = manifest.read_text()
        manifest.write_text(text.replace('"complete": true', '"complete": false'))
        found = self.compare("a", "c")
        self.assertIn("c: The training is not finished: 3 of 3 epochs.", found["notes"])
        self.assertFalse(found["runs"][1]["complete"])

    def test_what_cannot_be_compared_is_refused_by_name(self):
        self.assertIn("There is one run to compare: give 2 to 50", self.refused(USAGE, "a"))
        self.assertIn("There are 51 runs", self.refused(USAGE, *["a"] * 51))
        self.assertIn("run is missing", error_line(run("cosmo-infer", "compare"), "cosmo-infer"))
        self.assertIn("other is neither a training nor predictions, its stage is \"shard\"", self.refused(CONFIG, "a", "other"))
        self.assertIn("never is not a directory", self.refused(IO, "a", "never"))
        self.assertIn("pages-none/manifest.json does not exist", self.refused(IO, "a", self.made("pages-none")))
        self.assertIn("does not end in .html", self.refused(USAGE, "a", "b", words=["--html", "x.txt"]))
        notes = self.root / "notes.html"
        notes.write_text("my notes")
        self.assertIn("would replace", self.refused(CONFIG, "a", "b", words=["--html", notes]))
        self.assertEqual(notes.read_text(), "my notes")
        damaged = shutil.copytree(self.root / "a", self.root / "damaged")
        (damaged / "history.csv").write_text((damaged / "history.csv").read_text().replace("1", "2"))
        self.assertIn("history.csv", self.refused(FORMAT, "a", "damaged"))

    def made(self, name):
        (self.root / name).mkdir()
        return name

    def test_moved_models_and_many_runs(self):
        moved = shutil.copytree(self.root / "predictions-a", self.root / "alone/predictions-a")
        found = self.compare("alone/predictions-a", "predictions-b")
        self.assertTrue(any("cannot be read any more" in note for note in found["notes"]), found["notes"])
        self.assertTrue(found["runs"][0]["errors"], moved)
        page = self.root / "many.html"
        self.assertEqual(len(self.compare(*["a", "b"] * 25, words=["--html", page])["runs"]), 50)
        self.assertIn("a (25)", Page(page).text)


if __name__ == "__main__":
    unittest.main()
