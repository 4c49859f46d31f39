"""The scripts that train networks of fields, with their own settings made small: the initial density and the cosmic web."""

import json
import subprocess
import unittest

import h5py

from field_script import FieldScript
from toolkit import BIN, ENVIRONMENT, ROOT, DirectoryTest, small_settings


class Reconstruct(FieldScript, DirectoryTest):
    FOLDER, TARGET = "pipelines/reconstruct", "initial"
    SMALLER = {"sim.ini": {"simulations": 6, "particles": 16, "grid": 16}, "prep.ini": {"validation": 1, "test": 2}, "train.ini": {"epochs": 2, "reconstruct": 16, "global-batch": 2}}

    def test_fields_and_how_they_agree(self):
        metrics = self.metrics()
        self.assertEqual({len(metrics[name]) for name in ("k", "r", "r_se", "t", "t_se")}, {len(metrics["k"])})
        self.assertIn("standard", metrics["baselines"])

    def circle(self, *words):
        return subprocess.run(["bash", ROOT / self.FOLDER / "circle.sh", *words], env=dict(ENVIRONMENT, PATH=f"{BIN}:{ENVIRONMENT['PATH']}"),
                              capture_output=True, text=True, timeout=300)

    def test_the_circle_closes(self):
        settings, network = self.root / "circle", self.root / "network.json"
        small_settings(ROOT / self.FOLDER, {"circle.env": {"universes": 2}, "sim.ini": self.SMALLER["sim.ini"]}, settings)
        network.write_text(json.dumps({"name": "small", "input": "grid", "layers": [
            {"name": "mean", "inputs": ["grid"], "kind": "global_mean", "squares": True},
            {"name": "parameters", "inputs": ["mean"], "kind": "dense", "outputs": 0, "slope": 1}]}))
        (settings / "parameters.ini").write_text(f"network = {network}\nepochs = 1\nglobal-batch = 2\n")
        for _ in range(2):
            done = self.circle(self.out, settings)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            made = self.out / "circle"
            self.assertEqual(len(list(made.glob("noise-*"))), 4)
            rows = [line.split(" | ") for line in (made / "circle.md").read_text().splitlines() if line.startswith("| 0")]
            self.assertEqual({len(row) for row in rows}, {9})
            self.assertTrue(all(float(cell.split(" ± ")[0]) <= 1.001 for row in rows for cell in (row[1], row[3])))
            self.assertIn("</svg>", (made / "circle.svg").read_text())
        self.assertIn("up to date", done.stdout)
        none = self.circle(self.root / "none", settings)
        self.assertEqual((none.returncode, none.stderr.count("\n")), (3, 1))
        self.assertEqual(self.circle().returncode, 2)


class Web(FieldScript, DirectoryTest):
    FOLDER, TARGET = "pipelines/web", "web"
    SMALLER = {"sim.ini": {"simulations": 6, "box": 128, "particles": 32, "grid": 16}, "prep.ini": {"validation": 1, "test": 2}, "train.ini": {"epochs": 2, "global-batch": 2}}

    def test_classes_and_how_they_agree(self):
        metrics = self.metrics()
        self.assertEqual(sum(map(sum, metrics["confusion"])), 2 * 16**3)
        self.assertIn("finder", metrics["baselines"])
        with h5py.File(self.out / "sim/sim-00000/counts_z0.h5") as counts:
            self.assertEqual(counts["counts"][:].sum(), 32**3 // 64)


if __name__ == "__main__":
    unittest.main()
