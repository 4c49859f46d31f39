"""cosmo-prep histogram of a table of snapshots: a suite that shard takes, against numpy.histogramdd."""

import json
import shutil
import signal
import unittest

import h5py
import numpy as np

from gadget import BOX, GRID, N, example_positions, expected_counts, write_gadget4
from toolkit import DirectoryTest, contents, error_line, run, run_with_faults, succeed, times

CONFIG, IO, FORMAT = 3, 4, 5
OMEGA_M, SIGMA8 = [0.3, 0.32, 0.28, 0.34, 0.29], [0.8, 0.85, 0.9, 0.7, 0.75]
REDSHIFTS = [0.5, 0.0]


class SnapshotSuiteTest(DirectoryTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.runs, cls.expected = cls.root / "runs", {}
        lines = ["# made by a test", "simulation,snapshot,seed,sigma8"]
        for i, omega_m in enumerate(OMEGA_M):
            for z, redshift in enumerate(REDSHIFTS):
                positions = example_positions(seed=10 * i + z)
                folder = cls.runs / f"universe{i}/snapdir_{z}"
                files = write_gadget4(folder, positions, 1 + i % 3, redshift=redshift, omega_m=omega_m)
                lines.append(f"{i},{(folder if z else files[0]).relative_to(cls.runs)},{100 + i},{SIGMA8[i]}")
                cls.expected[i, redshift] = expected_counts(positions)
        cls.table = cls.runs / "suite.csv"
        cls.table.write_text("\n".join(lines) + "\n")
        cls.lines = lines
        cls.words = ["histogram", "--grid", GRID, "--n-s", 0.96]

    def count(self, name, table=None, *words, ranks=1):
        return succeed("cosmo-prep", *self.words, "--input", table or self.table, "--output", self.root / name, *words,
                       ranks=ranks)

    def altered(self, *lines):
        """A table beside the other: its header and first lines replaced by these."""
        path = self.runs / "altered.csv"
        path.write_text("\n".join(lines) + "\n")
        return path

    def refused(self, code, parts, table, *words):
        for ranks in (1, 2):
            done = run("cosmo-prep", *self.words, "--input", table, "--output", self.root / "never", *words, ranks=ranks)
            self.assertEqual(done.returncode, code, done.stderr)
            for part in parts:
                self.assertIn(str(part), error_line(done, "cosmo-prep"))
            self.assertFalse((self.root / "never").exists())

    def test_counts_are_numpys_and_become_shards(self):
        whole = None
        for ranks in (1, 2, 3):
            suite = self.root / f"suite-{ranks}"
            summary = self.count(suite.name, ranks=ranks)
            found = contents(suite), summary["id"]
            self.assertEqual(found, whole or found, f"{ranks} ranks")
            whole = found
        self.assertEqual((summary["simulations"], summary["snapshots"], summary["snapshot_files"]), (5, 10, 18))
        self.assertEqual(summary["parameters"], {"names": ["omega_m", "sigma8"], "low": [0.28, 0.7], "high": [0.34, 0.9]})
        self.assertEqual((summary["parameters_assumed"], summary["box_mpc_h"]), (["omega_b"], 200.0))
        for (i, redshift), counts in self.expected.items():
            with h5py.File(suite / f"sim-{i:05}/counts_z{redshift:g}.h5") as file:
                np.testing.assert_array_equal(file["counts"][:], counts)
                self.assertEqual((file.attrs["seed"], file.attrs["redshift"]), (100 + i, redshift))
                self.assertEqual(list(file.attrs["parameter_values"]), [OMEGA_M[i], SIGMA8[i], 0.96, 0.68, 0.045, -1, 0])
        manifest = json.loads((suite / "manifest.json").read_text())
        self.assertEqual((manifest["stage"], manifest["code"]["name"], len(manifest["inputs"])), ("generate", "cosmo-prep", 18))

        data = self.root / "data"
        sharded = succeed("cosmo-prep", "shard", "--input", suite, "--output", data, "--redshifts", "0,0.5")
        self.assertEqual((sharded["shape"], sharded["parameters"]), ([2, 12, 12, 12], summary["parameters"]))
        self.assertTrue(succeed("cosmo-prep", "verify", data)["verified"])
        samples = 0
        for path in sorted(data.glob("*/*.h5")):
            with h5py.File(path) as shard:
                for x, simulation, part, y in zip(shard["x"], shard["simulation"], shard["subvolume"], shard["y"]):
                    corner = [12 * (int(part) >> shift & 1) for shift in (2, 1, 0)]
                    cut = tuple(slice(first, first + 12) for first in corner)
                    np.testing.assert_array_equal(x, [self.expected[simulation, z][cut] for z in (0.0, 0.5)])
                    self.assertEqual(list(y), [OMEGA_M[simulation], SIGMA8[simulation]])
                    samples += 1
        self.assertEqual(samples, 40)

    def test_a_rerun_and_another_table(self):
        self.count("again")
        before = times(self.root / "again")
        self.assertTrue(self.count("again")["up_to_date"])
        self.assertEqual(times(self.root / "again"), before)
        table = self.altered(*self.lines[:-2])
        done = run("cosmo-prep", *self.words, "--input", table, "--output", self.root / "again")
        self.assertEqual(done.returncode, CONFIG)
        self.assertIn("universes_sha256 differs", error_line(done, "cosmo-prep"))
        self.assertEqual(self.count("again", table, "--force")["simulations"], 4)

    def test_own_snapshots_give_the_suite_that_was_simulated(self):
        sim = self.root / "sim"
        succeed("cosmo-sim", "generate", "--simulations", 3, "--omega-m", "0.25:0.35", "--particles", 16, "--grid", GRID,
                "--box", "64Mpc", "--h", "0.6:0.8", "--steps", 2, "--save", "counts,particles", "--output", sim)
        table = self.runs / "own.csv"
        table.write_text("snapshot\n" + "".join(f"{sim}/sim-{i:05}/snapshot_z0.hdf5\n" for i in range(3)))
        succeed("cosmo-prep", "histogram", "--grid", GRID, "--input", table, "--output", self.root / "own")
        made, simulated = (json.loads((path / "manifest.json").read_text()) for path in (self.root / "own", sim))
        self.assertAlmostEqual(made["box_mpc"], 64, delta=1e-9)
        for one, other in zip(made["simulations"], simulated["simulations"]):
            self.assertEqual([one[name] for name in ("index", "seed", "parameters")],
                             [other[name] for name in ("index", "seed", "parameters")])
            counts = [h5py.File(path / f"sim-{one['index']:05}/counts_z0.h5") for path in (self.root / "own", sim)]
            np.testing.assert_array_equal(counts[0]["counts"][:], counts[1]["counts"][:])

    def test_a_dry_run_touches_nothing(self):
        summary = self.count("dry", None, "--dry-run")
        self.assertEqual((summary["dry_run"], summary["disk_bytes"]), (True, 10 * 2 * GRID**3))
        self.assertFalse((self.root / "dry").exists())

    def test_kills(self):
        """After a kill at any fifth file operation the same command finishes, with the same bytes."""
        parts, count = self.root / "killed", self.root / "count"
        words = [*self.words, "--input", self.altered(*self.lines[:6]), "--output", parts]
        done = run_with_faults({"KILL_UNDER": parts, "KILL_COUNT": count}, "cosmo-prep", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        total, whole = int(count.read_text()), contents(parts)
        self.assertGreater(total, 30)
        for at in range(1, total + 1, 5):
            shutil.rmtree(parts)
            done = run_with_faults({"KILL_UNDER": parts, "KILL_AT": at}, "cosmo-prep", *words)
            self.assertEqual(done.returncode, -signal.SIGKILL)
            succeed("cosmo-prep", *words)
            self.assertEqual(contents(parts), whole, f"operation {at}")

    def test_tables_that_cannot_be(self):
        first, second = "universe0/snapdir_1", "universe1/snapdir_1"
        for code, parts, lines in (
                (FORMAT, ["line 1", "'sigma'"], ["snapshot,sigma", first + ",1"]),
                (FORMAT, ["line 1", "twice"], ["snapshot,seed,seed", first + ",1,1"]),
                (FORMAT, ["line 1", "no column 'snapshot'"], ["seed", "1"]),
                (FORMAT, ["no snapshot"], ["snapshot"]),
                (FORMAT, ["line 2", "names no snapshot"], ["snapshot,seed", ",1"]),
                (FORMAT, ["line 2", "no seed"], ["snapshot,seed", first + ",-1"]),
                (FORMAT, ["line 3", "3 cells"], ["snapshot,seed", first + ",1", second + ",2,"]),
                (CONFIG, ["line 2", "sigma8 is 9"], ["snapshot,sigma8", first + ",9"]),
                (CONFIG, ["line 2", "omega_m is 0.31", "0.3"], ["snapshot,omega_m", first + ",0.31"]),
                (CONFIG, ["--n-s", "column n_s"], ["snapshot,n_s", first + ",0.9"]),
                (CONFIG, ["line 3", "simulation 0", "z = 0"], ["snapshot,simulation", first + ",0", second + ",0"]),
                (CONFIG, ["line 3", "simulation 0", "seed or parameters"],
                 ["snapshot,simulation", first + ",0", "universe1/snapdir_0,0"]),
                (CONFIG, ["0 and 1", "seed 7"], ["snapshot,seed", first + ",7", second + ",7"]),
                (CONFIG, [first, "same content"], ["snapshot,sigma8", first + ",0.8", first + ",0.9"]),
                (IO, ["nowhere"], ["snapshot", "nowhere"])):
            with self.subTest(lines=lines):
                self.refused(code, parts, self.altered(*lines))
        self.refused(CONFIG, ["--seed", "column seed"], self.table, "--seed", 1)

    def test_universes_that_do_not_match(self):
        for name, positions, box, parts in (("few", example_positions()[1:], BOX, [N, N - 1]),
                                            ("small", example_positions(box=BOX / 2), BOX / 2, [100, 200])):
            write_gadget4(self.runs / name, positions, 1, box=box, omega_m=0.33)
            self.refused(CONFIG, ["line 2", "line 3", *parts], self.altered("snapshot", "universe0/snapdir_1", name))


if __name__ == "__main__":
    unittest.main()
