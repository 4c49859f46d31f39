"""The script that reconstructs initial conditions, with its own settings made small."""

import json
import re
import shlex
import subprocess
import unittest

import h5py

from toolkit import BIN, ENVIRONMENT, ROOT, DirectoryTest, small_settings, times

RECONSTRUCT = ROOT / "pipelines/reconstruct"
SMALLER = {"sim.ini": {"simulations": 6, "particles": 16, "grid": 16}, "prep.ini": {"validation": 1, "test": 2}, "train.ini": {"epochs": 2, "reconstruct": 16, "global-batch": 2}}


class Reconstruct(DirectoryTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.out = cls.root / "out"
        for size, folder in ("small", RECONSTRUCT), ("full", RECONSTRUCT / "full"):
            small_settings(folder, SMALLER, cls.root / size)
        cls.first = cls.run_script(cls.out, cls.root / "small")

    @classmethod
    def run_script(cls, out, settings):
        done = subprocess.run(["bash", RECONSTRUCT / "run.sh", out, settings], env=dict(ENVIRONMENT, PATH=f"{BIN}:{ENVIRONMENT['PATH']}"),
                              capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def test_fields_and_how_they_agree(self):
        metrics = json.loads((self.out / "predictions/metrics.json").read_text())["fields"]["initial"]
        self.assertEqual(metrics["universes"], 2)
        self.assertEqual({len(metrics[name]) for name in ("k", "r", "r_se", "t", "t_se")}, {len(metrics["k"])})
        self.assertIn("standard", metrics["baselines"])
        self.assertIn("</html>", (self.out / "predictions/report.html").read_text())
        self.assertEqual(len(list((self.out / "predictions/fields").iterdir())), 2)

    def test_one_universe(self):
        command = re.search(r"(?m)^One universe: (.*)$", self.first)[1]
        done = subprocess.run(shlex.split(command), env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        with h5py.File(self.out / "one/fields/universe-00000.h5") as file:
            self.assertEqual(file["initial"].shape, (16, 16, 16))

    def test_again_and_the_full_settings(self):
        before = times(self.out)
        self.assertIn("up to date", self.run_script(self.out, self.root / "small"))
        self.assertEqual(times(self.out), before)
        self.run_script(self.root / "full-out", self.root / "full")


if __name__ == "__main__":
    unittest.main()
