"""Universes in redshift space, with local non-Gaussianity and with radiation: what the files hold, and what is refused."""

import json
import unittest

import h5py
import numpy as np

from toolkit import DirectoryTest, contents, error_line, printed, run, succeed

USAGE, CONFIG = 2, 3
BOX, SIDE, GRID = 64, 16, 8
SIM = ["generate", "--omega-m", 0.3, "--box", BOX, "--particles", SIDE, "--steps", 3, "--redshifts", "0,1", "--save", "counts,particles"]


class Universes(DirectoryTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.real = cls.made("real")

    @classmethod
    def made(cls, name, *words, ranks=1):
        succeed("cosmo-sim", *SIM, *words, "--output", cls.root / name, ranks=ranks)
        return cls.root / name

    def config(self, suite):
        return json.loads((suite / "manifest.json").read_text())["config"]

    def refused(self, code, part, *words):
        done = run("cosmo-sim", *SIM, *words, "--output", self.root / "never")
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(part, error_line(done, "cosmo-sim"))


class RedshiftSpace(Universes):
    def test_counts_and_snapshots_are_those_of_moved_particles(self):
        for axis, name in enumerate("xyz"):
            seen = self.made(name, "--redshift-space", name)
            self.assertEqual(self.config(seen), dict(self.config(self.real), redshift_space=name))
            for z in (0, 1):
                a = 1 / (1 + z)
                hubble = 100 * np.sqrt(0.3 * a**-3 + 0.7)  # km/s/(Mpc/h), of the default universe
                with h5py.File(self.real / f"sim-00000/snapshot_z{z}.hdf5") as file:
                    self.assertEqual(file["Header"].attrs["Omega0"], 0.3)
                    x, v = (file[f"PartType1/{of}"][...].astype(float) for of in ("Coordinates", "Velocities"))
                with h5py.File(seen / f"sim-00000/snapshot_z{z}.hdf5") as file:
                    s = file["PartType1/Coordinates"][...]
                    np.testing.assert_array_equal(file["PartType1/Velocities"][...], v.astype("f4"))
                x[:, axis] += v[:, axis] * np.sqrt(a) / (a * hubble)
                apart = s - x
                self.assertLess(np.abs(apart - BOX * np.round(apart / BOX)).max(), 3e-5)
                with h5py.File(seen / f"sim-00000/counts_z{z}.h5") as file:
                    np.testing.assert_array_equal(np.histogramdd(s, bins=GRID, range=[(0, BOX)] * 3)[0], file["counts"][...])

    def test_counts_alone_are_the_same_and_so_are_those_of_any_ranks(self):
        one = self.made("one", "--redshift-space", "x")
        self.assertEqual(contents(self.made("three", "--redshift-space", "x", ranks=3)), contents(one))
        succeed("cosmo-sim", *SIM[:-2], "--redshift-space", "x", "--output", self.root / "counts")
        for z in (0, 1):
            path = f"sim-00000/counts_z{z}.h5"
            self.assertEqual(contents(self.root / "counts")[path], contents(one)[path])

    def test_what_is_made_from_it_states_it_and_is_not_taken_for_real_space(self):
        network = self.root / "network.json"
        network.write_text(json.dumps({"name": "small", "input": "voxels", "layers": [
            {"name": "out", "kind": "dense", "inputs": ["voxels"], "outputs": 0, "slope": 1}]}))
        words = ["generate", "--simulations", 4, "--sigma8", "0.7:0.9", *SIM[3:-4], "--save", "counts,particles"]
        for name, space in (("real", []), ("seen", ["--redshift-space", "z"])):
            suite, data, model = (self.root / f"{name} {kind}" for kind in ("suite", "data", "model"))
            succeed("cosmo-sim", *words, *space, "--output", suite)
            succeed("cosmo-prep", "shard", "--input", suite, "--output", data, "--subvolumes", 1, "--validation", 1, "--test", 1)
            succeed("cosmo-train", "--data", data, "--output", model, "--network", network, "--epochs", 1, "--global-batch", 2)
            universe = suite / "sim-00003"
            succeed("cosmo-prep", "histogram", "--input", universe / "snapshot_z0.hdf5", "--grid", GRID, "--output", self.root / f"{name} again")
            with h5py.File(universe / "counts_z0.h5") as one, h5py.File(self.root / f"{name} again/counts_z0.h5") as two:
                self.assertEqual(dict(one.attrs).get("redshift_space"), dict(two.attrs).get("redshift_space"))
            if space:
                self.assertIn("redshift space along z", printed("cosmo-prep", "describe", data))
                self.assertIn("redshift space along z", printed("cosmo-sim", "inspect", universe / "counts_z0.h5"))
        for model, other in (("real", "seen"), ("seen", "real")):
            for words in (["--data", self.root / f"{other} data", "--split", "test", "--output", self.root / "never"],
                          ["--input", self.root / f"{other} suite/sim-00003/counts_z0.h5"],
                          ["--input", self.root / f"{other} suite/sim-00003/snapshot_z0.hdf5"]):
                done = run("cosmo-infer", "--model", self.root / f"{model} model", *words)
                self.assertEqual(done.returncode, CONFIG, done.stderr)
                self.assertIn("redshift space along z", error_line(done, "cosmo-infer"))

    def test_an_axis_that_is_none(self):
        self.refused(USAGE, "--redshift-space", "--redshift-space", "w")


class NonGaussianity(Universes):
    def test_it_is_part_of_the_request_and_the_same_from_any_ranks(self):
        one = self.made("one", "--f-nl", 500)
        self.assertEqual(self.config(one), dict(self.config(self.real), f_nl=500))
        self.assertEqual(contents(self.made("three", "--f-nl", 500, ranks=3)), contents(one))
        self.assertTrue(succeed("cosmo-sim", *SIM, "--f-nl", 0, "--output", self.real)["up_to_date"])

    def test_a_positive_one_makes_the_densest_cells_denser(self):
        largest = []
        for f_nl in (-5000, 0, 5000):
            suite = self.made(f"of {f_nl}", f"--f-nl={f_nl}")
            with h5py.File(suite / "sim-00000/counts_z0.h5") as file:
                largest.append((file["counts"][...].astype(float)**3).mean())
        self.assertTrue(largest[0] < largest[1] < largest[2], largest)

    def test_what_is_refused(self):
        self.refused(CONFIG, "--f-nl is 20000", "--f-nl", 20000)
        table = self.root / "short.dat"
        table.write_text("".join(f"{10**(k / 10):.6e} {1e4 * 10**(-abs(k) / 10):.6e}\n" for k in range(-20, 20)))
        self.refused(CONFIG, "begins at k = 0.01", "--transfer", table, "--f-nl", 10)


class Radiation(Universes):
    def test_it_is_part_of_the_request_and_moves_particles_a_little(self):
        one = self.made("one", "--radiation")
        self.assertEqual(self.config(one), dict(self.config(self.real), radiation=True))
        positions = []
        for suite in (self.real, one):
            with h5py.File(suite / "sim-00000/snapshot_z1.hdf5") as file:
                positions.append(file["PartType1/Coordinates"][...])
        apart = positions[1] - positions[0]
        apart = np.sqrt(((apart - BOX * np.round(apart / BOX))**2).mean())
        self.assertTrue(1e-4 < apart < 0.1, apart)  # Mpc/h

    def test_what_is_refused(self):
        done = run("cosmo-sim", *[1 if word == 0.3 else word for word in SIM], "--radiation", "--output", self.root / "never")
        self.assertEqual(done.returncode, CONFIG, done.stderr)
        self.assertIn("has room for at most 0.9999", error_line(done, "cosmo-sim"))


if __name__ == "__main__":
    unittest.main()
