"""The script that shows where networks hold, with its own settings made small: tables, figure, the same command again."""

import json
import re
import subprocess
import unittest
import xml.etree.ElementTree

import numpy as np

from toolkit import BIN, ENVIRONMENT, ROOT, DirectoryTest, small_settings, times

TRANSFER = ROOT / "pipelines/transfer"
SMALLER = {"sim.ini": {"particles": 16, "grid": 32},
           "prep.ini": {"training": 40, "validation": 12, "test": 4},
           "train.ini": {"network": "cosmonet32", "global-batch": 8},
           "sizes.env": {"seeds": '"1 2"', "epochs": 1, "universes": 60, "held_out": 4,
                         "recipes": '"plain: ; smooth-16: --smooth 16"',
                         "tests": '"one-setting: ; finer: --mesh 32 --steps 12"'}}


class Transfer(DirectoryTest):
    LABELS = ("slow",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        small_settings(TRANSFER, SMALLER, cls.root / "settings")
        # Universes of another program: arrays and a table.
        other = cls.root / "other"
        other.mkdir()
        rows, random = ["file,simulation,split,omega_m,sigma8,n_s,seed"], np.random.default_rng(1)
        for number, split in enumerate(["train", "validation"] + 6 * ["test"]):
            np.save(other / f"{number}.npy", random.poisson(1, (32, 32, 32)).astype(np.uint16))
            rows.append(f"{number}.npy,{number},{split},{random.uniform(.25, .35)},{random.uniform(.78, .95)},{random.uniform(.9, 1)},{9000 + number}")
        (cls.root / "other.csv").write_text("\n".join(rows) + "\n")
        sizes = cls.root / "settings/sizes.env"
        text = sizes.read_text()
        text = re.sub(r'(?s)mixtures=".*?"\n', 'mixtures="one: ; mixed: | --steps 5 | --force-kernel two-point"\n', text)
        sizes.write_text(text.replace('imported=""', f'imported="other: {other}"'))
        cls.out = cls.root / "out"
        cls.first = cls.run_script()

    @classmethod
    def run_script(cls):
        done = subprocess.run(["bash", TRANSFER / "run.sh", cls.out, cls.root / "settings"],
                              env=dict(ENVIRONMENT, PATH=f"{BIN}:{ENVIRONMENT['PATH']}"), capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def metrics(self, recipe, test):
        return json.loads((self.out / f"predictions/{recipe}/{test}/metrics.json").read_text())

    def test_tables_are_those_of_the_inferences(self):
        text = (self.out / "tables.md").read_text()
        for test in ("finer", "other"):
            section = text[text.index(f"## Bias on {test}"):]
            cells = re.search(r"(?m)^\| mixed-plain \| (.*) \|$", section)[1].split(" | ")
            for cell, name in zip(cells, ("omega_m", "sigma8", "n_s")):
                expected = np.mean([self.metrics(f"mixed-plain-{seed}", test)["settings"][0][name]["bias_deviations"] for seed in (1, 2)])
                self.assertAlmostEqual(float(cell.split(" ± ")[0]), expected, delta=0.0051)
        self.assertEqual(len(re.findall(r"(?m)^\| (?:one|mixed)-(?:plain|smooth-16) \|", text[text.index("## The front"):])), 4)

    def test_settings_of_the_mixture_are_judged_one_by_one(self):
        settings = self.metrics("mixed-smooth-16-1", "own")["settings"]
        self.assertGreater(len(settings), 1)
        self.assertTrue(all({"input", "steps", "force_kernel"} & set(entry["setting"]) for entry in settings))

    def test_the_figure_is_an_image_with_every_recipe(self):
        image = xml.etree.ElementTree.parse(self.out / "front.svg")
        words = {element.text for element in image.iter("{http://www.w3.org/2000/svg}text")}
        self.assertLessEqual({"one-plain", "one-smooth-16", "mixed-plain", "mixed-smooth-16"}, words)

    def test_the_same_command_makes_nothing_again(self):
        before = times(self.out)
        self.run_script()
        after = times(self.out)
        changed = {path for path in after if after[path] != before.get(path)}
        self.assertEqual(changed, {str(self.out / "tables.md"), str(self.out / "front.svg")})


if __name__ == "__main__":
    unittest.main()
