"""Universes of the same phases that state no seeds: found by their content, in snapshots, imports and data sets."""

import json
import unittest

import h5py
import numpy as np

from others_snapshots import BOX, gadget
from toolkit import DirectoryTest, error_line, run, succeed

CONFIG = 3


def warnings_of(done):
    return [line for line in done.stderr.splitlines() if line.startswith("warning:") and "do not state all parameters" not in line]


class Phases(DirectoryTest):
    SIDE = 16

    def universe(self, i, same):
        """Positions of the i-th universe; those of the numbers in `same` have the same displacements, scaled."""
        lattice = (np.stack(np.meshgrid(*[np.arange(self.SIDE)] * 3, indexing="ij"), -1).reshape(-1, 3) + 0.5) * BOX / self.SIDE
        shift = np.random.default_rng(7 if i in same else 100 + i).normal(0, 2, lattice.shape)
        return np.mod(lattice + shift * (0.8 + 0.03 * i), BOX).astype("f4")

    def snapshots(self, name, same, seeds=None):
        """A table of twelve snapshots."""
        folder = self.root / name
        rows = ["snapshot,omega_m,sigma8" + (",seed" if seeds else "")]
        for i in range(12):
            gadget(folder / f"{i}.hdf5", {1: {"Coordinates": self.universe(i, same)}}, {"Omega0": 0.2 + 0.02 * i})
            rows.append(f"{i}.hdf5,{0.2 + 0.02 * i:.2f},{0.7 + 0.01 * i:.2f}" + (f",{seeds[i]}" if seeds else ""))
        (folder / "suite.csv").write_text("\n".join(rows) + "\n")
        return folder / "suite.csv"

    def count(self, table, name, ranks=1):
        done = run("cosmo-prep", "histogram", "--grid", 16, "--input", table, "--output", self.root / name, ranks=ranks)
        self.assertEqual(done.returncode, 0, done.stderr)
        return warnings_of(done), json.loads((self.root / name / "manifest.json").read_text())

    def test_snapshots_without_seeds(self):
        warnings, manifest = self.count(self.snapshots("apart", []), "apart-counts")
        self.assertEqual(len(warnings), 1)
        self.assertIn("add a column seed", warnings[0])
        self.assertTrue(manifest["seeds_assumed"])
        for ranks in (1, 3):
            warnings, _ = self.count(self.snapshots("some", [2, 5]), f"some-counts-{ranks}", ranks)
            self.assertEqual(len(warnings), 2)
            self.assertIn("simulations 2 and 5 share their phases", warnings[1])
        warnings, manifest = self.count(self.snapshots("seeded", [2, 5], range(40, 52)), "seeded-counts")
        self.assertEqual(warnings, [])
        self.assertNotIn("seeds_assumed", manifest)

    def test_opposite_phases_of_universes_that_are_cut(self):
        """Six universes to train on, and the partners of two of them, as arrays without seeds."""
        words = ["generate", "--particles", 64, "--grid", 32, "--box", 256, "--steps", 3, "--omega-m", "0.25:0.35"]
        succeed("cosmo-sim", *words, "--simulations", 6, "--output", self.root / "own")
        succeed("cosmo-sim", *words, "--simulations", 2, "--paired", "--output", self.root / "partners")
        for cuts in (1, 2):
            folder, rows = self.root / f"arrays-{cuts}", ["file,simulation,subvolume,split,omega_m"]
            folder.mkdir()
            for number in range(8):
                suite, universe = ("own", number) if number < 6 else ("partners", number - 6)
                with h5py.File(self.root / suite / f"sim-{universe:05}/counts_z0.h5") as file:
                    counts = file["counts"][:]
                side = 32 // cuts
                for cut, (x, y, z) in enumerate(np.ndindex(cuts, cuts, cuts)):
                    np.save(folder / f"{number}-{cut}.npy", counts[x * side:, y * side:, z * side:][:side, :side, :side])
                    rows.append(f"{number}-{cut}.npy,{number},{cut},{'train' if number < 6 else ('test', 'validation')[number - 6]},{0.25 + 0.01 * number}")
            (folder / "samples.csv").write_text("\n".join(rows) + "\n")
            done = run("cosmo-prep", "import", "--format", "npy", "--input", folder, "--samples", folder / "samples.csv", "--box", 256 / cuts,
                       "--output", self.root / f"imported-{cuts}")
            self.assertEqual(done.returncode, CONFIG, done.stderr)
            self.assertRegex(error_line(done, "cosmo-prep"), r"simulations 0 \(train\) and 6 \(test\), r = -0\.[5-9]\d, share their phases, and 1 pairs")

    def test_splits_that_share_phases_are_refused(self):
        self.count(self.snapshots("all", range(12)), "all-counts")
        words = ["cosmo-prep", "shard", "--input", self.root / "all-counts", "--subvolumes", 1, "--output", self.root / "all-data"]
        for ranks in (1, 2):
            done = run(*words, ranks=ranks)
            self.assertEqual(done.returncode, CONFIG, done.stderr)
            self.assertIn("are in different splits", error_line(done, "cosmo-prep"))
            self.assertFalse((self.root / "all-data/manifest.json").exists())
        done = run(*words, "--allow-leak")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("65 pairs more", "".join(warnings_of(done)))
        found = succeed("cosmo-prep", "verify", self.root / "all-data", "--phases")["phases"]
        self.assertEqual((found["universes"], len(found["shared"]), found["conclusive"]), (12, 66, True))
        self.assertIn("(train)", found["across_splits"])
        self.count(self.snapshots("none", []), "none-counts")
        succeed("cosmo-prep", "shard", "--input", self.root / "none-counts", "--subvolumes", 1, "--output", self.root / "none-data")
        found = succeed("cosmo-prep", "verify", self.root / "none-data", "--phases")["phases"]
        self.assertEqual((found["shared"], found["across_splits"]), ([], ""))

    def test_imported_arrays_without_seeds(self):
        folder = self.root / "arrays"
        folder.mkdir()
        for i in range(12):
            positions = self.universe(i, (1, 8))
            np.save(folder / f"{i}.npy", np.histogramdd(positions, bins=16, range=[(0, BOX)] * 3)[0].astype("u2"))
        splits = ["train"] * 8 + ["validation"] * 2 + ["test"] * 2

        def table(name, splits, seeds=None):
            lines = ["file,simulation,omega_m,split" + (",seed" if seeds else "")]
            lines += [f"{i}.npy,{i},{0.2 + 0.02 * i:.2f},{splits[i]}" + (f",{seeds[i]}" if seeds else "") for i in range(12)]
            (folder / name).write_text("\n".join(lines) + "\n")
            return ["cosmo-prep", "import", "--format", "npy", "--box", BOX, "--input", folder, "--samples", folder / name,
                    "--output", self.root / name.removesuffix(".csv")]
        done = run(*table("across.csv", splits))
        self.assertEqual(done.returncode, CONFIG, done.stderr)
        for part in ("simulations 1 (train) and 8 (validation)", "column split"):
            self.assertIn(part, error_line(done, "cosmo-prep"))
        self.assertEqual([path.name for path in (self.root / "across").iterdir()], [".lock"])  # what cannot be finished is removed
        together = list(splits)
        together[8], together[7] = "train", "validation"
        done = run(*table("within.csv", together))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("simulations 1 (train) and 8 (train)", "".join(warnings_of(done)))
        self.assertTrue(json.loads((self.root / "within/manifest.json").read_text())["seeds_assumed"])
        done = run(*table("seeded.csv", splits, range(12)))
        self.assertEqual((done.returncode, warnings_of(done)), (0, []), done.stderr)
        done = run("cosmo-prep", "verify", self.root / "seeded", "--phases")
        self.assertIn("simulations 1 (train) and 8 (validation)", "".join(warnings_of(done)))


if __name__ == "__main__":
    unittest.main()
