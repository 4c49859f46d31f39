"""The quickstart's stages with its own settings made small, by the script that quickstart.sh calls after building."""

import csv
import json
import pathlib
import re
import shlex
import subprocess
import unittest

from toolkit import BIN, ENVIRONMENT, ROOT, DirectoryTest, small_settings, times

PIPELINES = ROOT / "pipelines"
SMALLER = {"sim.ini": {"simulations": 8, "particles": 32},
           "prep.ini": {"validation": 2, "test": 3},
           "train.ini": {"epochs": 2, "global-batch": 2}}


class Quickstart(DirectoryTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        small_settings(PIPELINES / "quickstart", SMALLER, cls.root / "settings")
        cls.out = cls.root / "a directory"
        cls.first = cls.run_stages()

    @classmethod
    def run_stages(cls):
        done = subprocess.run(["bash", PIPELINES / "run.sh", cls.root / "settings", cls.out],
                              env=dict(ENVIRONMENT, PATH=f"{BIN}:{ENVIRONMENT['PATH']}"), capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def test_what_is_printed(self):
        stages = re.findall(r"(?m)^== (\d)/4 (cosmo-\w+): ", self.first)
        self.assertEqual(stages, list(zip("1234", ("cosmo-sim", "cosmo-prep", "cosmo-train", "cosmo-infer"))))
        self.assertRegex(self.first, r"\nDone in \d+ min \d+ s\. The files:\n")
        for name in ("sim", "data", "model", "predictions"):
            self.assertRegex(self.first, rf"(?m)^  {self.out}/{name}  +\w")
            self.assertTrue(json.loads((self.out / name / "manifest.json").read_text())["files"], name)

    def test_the_files_that_it_names(self):
        for name in ("model/history.csv", "model/loss.svg", "predictions/metrics.json"):
            self.assertIn(pathlib.Path(name).name, self.first)
            self.assertGreater((self.out / name).stat().st_size, 0)
        rows = list(csv.DictReader((self.out / "predictions/predictions.csv").read_text().splitlines()))
        self.assertEqual((len(rows), len({row["simulation"] for row in rows})), (3, 3))
        report = re.search(r"(?m)^The report: +(.*)$", self.first)[1]
        self.assertIn("</html>", pathlib.Path(report).read_text())

    def test_one_universe(self):
        """The command for another prediction works as it is printed, but for the blank in the directory's name."""
        command = re.search(r"(?m)^One universe: (.*)$", self.first)[1].replace(str(self.out), shlex.quote(str(self.out)))
        done = subprocess.run(shlex.split(command), env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("sigma8", done.stdout)

    def test_again(self):
        before = times(self.out)
        again = self.run_stages()
        self.assertEqual(again.count("up to date"), 4, again)
        self.assertEqual(times(self.out), before)


class Scripts(unittest.TestCase):
    def test_quickstart_runs_these_stages(self):
        """With the settings of pipelines/quickstart, after what may not run in a test."""
        text = (PIPELINES / "quickstart.sh").read_text()
        self.assertTrue(text.endswith('PATH=$root/build/release/bin:$PATH\n. pipelines/run.sh "$root/pipelines/quickstart" "$out"\n'
                                      "printf 'The tools:    export PATH=%q:$PATH\\n' \"$root/build/release/bin\"\n"))
        self.assertEqual({path.name for path in (PIPELINES / "quickstart").iterdir()}, SMALLER.keys())

    def test_shell(self):
        scripts = [*PIPELINES.rglob("*.sh"), PIPELINES.parent / "tests/run.sh"]
        self.assertEqual({path.name for path in scripts}, {"quickstart.sh", "run.sh", "setup.sh", "study.sh", "submit.sh", "job.sh", "tools.sh", "circle.sh"})
        for path in scripts:
            done = subprocess.run(["bash", "-n", path], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""), path)

    def test_usage(self):
        done = subprocess.run(["bash", PIPELINES / "run.sh", "quickstart"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (2, "Usage: run.sh SETTINGS OUTPUT\n"))
        for script, words, usage in ((PIPELINES / "quickstart.sh", ["--help"], "quickstart.sh [OUTPUT_DIRECTORY]"),
                                     (PIPELINES / "quickstart.sh", ["a", "b"], "quickstart.sh [OUTPUT_DIRECTORY]"),
                                     (PIPELINES.parent / "packaging/deb.sh", ["--help"], "deb.sh")):
            done = subprocess.run(["bash", script, *words], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (2, "", f"Usage: {usage}\n"))


if __name__ == "__main__":
    unittest.main()
