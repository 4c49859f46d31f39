"""What the scripts that train networks of fields have in common, as tests of a class with FOLDER, TARGET and SMALLER settings."""

import json
import re
import shlex
import subprocess

import h5py

from toolkit import BIN, ENVIRONMENT, ROOT, small_settings, times


class FieldScript:
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.out = cls.root / "out"
        for size, folder in ("small", ROOT / cls.FOLDER), ("full", ROOT / cls.FOLDER / "full"):
            small_settings(folder, cls.SMALLER, cls.root / size)
        cls.first = cls.run_script(cls.out, cls.root / "small")

    @classmethod
    def run_script(cls, out, settings):
        done = subprocess.run(["bash", ROOT / cls.FOLDER / "run.sh", out, settings], env=dict(ENVIRONMENT, PATH=f"{BIN}:{ENVIRONMENT['PATH']}"),
                              capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def metrics(self):
        self.assertIn("</html>", (self.out / "predictions/report.html").read_text())
        self.assertEqual(len(list((self.out / "predictions/fields").iterdir())), 2)
        metrics = json.loads((self.out / "predictions/metrics.json").read_text())["fields"][self.TARGET]
        self.assertEqual(metrics["universes"], 2)
        return metrics

    def test_one_universe(self):
        command = re.search(r"(?m)^One universe: (.*)$", self.first)[1]
        done = subprocess.run(shlex.split(command), env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        with h5py.File(self.out / "one/fields/universe-00000.h5") as file:
            self.assertEqual(file[self.TARGET].shape, (16, 16, 16))

    def test_again_and_the_full_settings(self):
        before = times(self.out)
        self.assertIn("up to date", self.run_script(self.out, self.root / "small"))
        self.assertEqual(times(self.out), before)
        self.run_script(self.root / "full-out", self.root / "full")
