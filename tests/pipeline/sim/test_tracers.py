"""cosmo-sim generate --tracers: counts of a part of the particles."""

import json
import unittest

import h5py
import numpy as np

from toolkit import DirectoryTest, contents, error_line, run, succeed

CONFIG = 3
BOX, SIDE, GRID, UNIVERSES = 128, 32, 16, 4
SIM = ["generate", "--omega-m", "0.25:0.35", "--simulations", UNIVERSES, "--box", BOX, "--particles", SIDE, "--steps", 3, "--grid", GRID]


class Tracers(DirectoryTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, words in {"all": (), "eighth": ("--tracers", "1/8"), "few": ("--tracers", 0.015625)}.items():
            succeed("cosmo-sim", *SIM, *words, "--output", cls.root / name)

    def counts(self, suite, universe):
        with h5py.File(self.root / suite / f"sim-{universe:05}/counts_z0.h5") as file:
            return file["counts"][:].astype(int), dict(file.attrs)

    def test_counts_are_of_a_part_of_the_particles(self):
        for universe in range(UNIVERSES):
            (every, _), (eighth, header), (few, _) = (self.counts(suite, universe) for suite in ("all", "eighth", "few"))
            self.assertEqual((every.sum(), eighth.sum(), few.sum(), header["particles"]), (SIDE**3, SIDE**3 // 8, SIDE**3 // 64, SIDE**3 // 8))
            self.assertTrue((every >= eighth).all() and (eighth >= few).all())
        suite = json.loads((self.root / "eighth/manifest.json").read_text())
        self.assertEqual((suite["config"]["tracers"], suite["facts"]["tracers"], suite["facts"]["particle_spacing_mpc_h"]), (0.125, 0.125, 8))
        self.assertNotIn("tracers", json.loads((self.root / "all/manifest.json").read_text())["config"])

    def test_their_noise_is_that_of_a_random_choice(self):
        # Given all particles, a share s of them in a voxel has the variance n s (1 - s).
        chi2, voxels, share = 0.0, 0, 1 / 8
        for universe in range(UNIVERSES):
            every, eighth = self.counts("all", universe)[0], self.counts("eighth", universe)[0]
            some = every > 4
            chi2 += ((eighth - share * every)[some] ** 2 / (every[some] * share * (1 - share))).sum()
            voxels += some.sum()
        self.assertLess(abs(chi2 / voxels - 1), 5 * np.sqrt(3 / voxels))

    def test_bytes_do_not_depend_on_ranks_and_packs_hold_the_same(self):
        succeed("cosmo-sim", *SIM, "--tracers", "1/8", "--ranks-per-simulation", 3, "--output", self.root / "three", ranks=3)
        self.assertEqual(contents(self.root / "three"), contents(self.root / "eighth"))
        succeed("cosmo-sim", *SIM, "--tracers", "1/8", "--pack", 2, "--output", self.root / "packs")
        with h5py.File(self.root / "packs/packs/pack-00000.h5") as file:
            np.testing.assert_array_equal(file["counts_z0"][1], self.counts("eighth", 1)[0])
        for suite in ("eighth", "packs"):
            succeed("cosmo-prep", "shard", "--input", self.root / suite, "--output", self.root / f"data-{suite}")
        with h5py.File(self.root / "data-eighth/test/shard-00000.h5") as file:
            self.assertEqual(file.attrs["mean_count"], SIDE**3 / 8 / GRID**3)

    def test_what_cannot_be_is_refused(self):
        for words, part in (((0,), "--tracers is 0"), ((1.5,), "--tracers is 1.5"), (("1/0",), "--tracers is 1/0"), ((1e-9,), "less than one of 32768 particles"),
                            (("1/8", "--save", "particles"), "add counts to --save")):
            done = run("cosmo-sim", *SIM, "--tracers", *words, "--output", self.root / "never")
            self.assertEqual(done.returncode, CONFIG, done.stderr)
            self.assertIn(part, error_line(done, "cosmo-sim"))
        self.assertNotEqual(run("cosmo-sim", *SIM, "--tracers", "few", "--output", self.root / "never").returncode, 0)


if __name__ == "__main__":
    unittest.main()
