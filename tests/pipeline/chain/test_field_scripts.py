"""The scripts that train networks of fields, with their own settings made small: the initial density and the cosmic web."""

import unittest

import h5py

from field_script import FieldScript
from toolkit import DirectoryTest


class Reconstruct(FieldScript, DirectoryTest):
    FOLDER, TARGET = "pipelines/reconstruct", "initial"
    SMALLER = {"sim.ini": {"simulations": 6, "particles": 16, "grid": 16}, "prep.ini": {"validation": 1, "test": 2}, "train.ini": {"epochs": 2, "reconstruct": 16, "global-batch": 2}}

    def test_fields_and_how_they_agree(self):
        metrics = self.metrics()
        self.assertEqual({len(metrics[name]) for name in ("k", "r", "r_se", "t", "t_se")}, {len(metrics["k"])})
        self.assertIn("standard", metrics["baselines"])


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
