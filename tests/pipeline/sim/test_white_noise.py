"""White noise in files: cosmo-sim noise, and universes whose phases come from a file."""

import json
import struct
import unittest

import h5py
import numpy as np

from toolkit import DirectoryTest, contents, error_line, run, run_with_faults, sha256, succeed

CONFIG, IO, FORMAT = 3, 4, 5
SIDE = 32
SIM = ["generate", "--box", 64, "--particles", SIDE, "--steps", 3, "--save", "counts,particles"]


def write_grafic(path, noise, order="<"):
    """The file that MUSIC and monofonIC read, of noise[x, y, z]."""
    record = lambda content: struct.pack(order + "i", len(content)) + content + struct.pack(order + "i", len(content))
    n = len(noise)
    path.write_bytes(record(struct.pack(order + "4i", n, n, n, 1)) + b"".join(
        record(noise[:, :, z].T.astype(order + "f4").tobytes()) for z in range(n)))


class WhiteNoise(DirectoryTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.own = cls.root / "own"
        succeed("cosmo-sim", *SIM, "--output", cls.own)
        cls.seed = json.loads((cls.own / "manifest.json").read_text())["simulations"][0]["seed"]
        for name in ("noise", "noise.npy"):
            succeed("cosmo-sim", "noise", "--seed", cls.seed, "--particles", SIDE, "--output", cls.root / name)

    def refused(self, code, part, *words):
        done = run("cosmo-sim", *words)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(part, error_line(done, "cosmo-sim"))

    def particles(self, suite):
        with h5py.File(suite / "sim-00000/snapshot_z0.hdf5") as file:
            return file["PartType1/Coordinates"][...]

    def test_both_formats_are_what_others_read_and_hold_the_same(self):
        noise = np.load(self.root / "noise.npy")
        self.assertEqual((noise.shape, noise.dtype), ((SIDE,) * 3, np.dtype("<f4")))
        self.assertLess(abs(noise.mean()), 5 / SIDE**1.5)
        self.assertLess(abs(noise.std() - 1), 5 / (2 * SIDE**3)**0.5)
        write_grafic(self.root / "ours", noise)
        written, expected = ((self.root / name).read_bytes() for name in ("noise", "ours"))
        self.assertEqual((written[:16], written[20:]), (expected[:16], expected[20:]))  # but for iseed
        self.assertEqual(struct.unpack("<i", written[16:20])[0], self.seed & 0x7fffffff)

    def test_any_ranks_write_the_same_bytes(self):
        for name in ("noise", "noise.npy"):
            succeed("cosmo-sim", "noise", "--seed", self.seed, "--particles", SIDE, "--output", self.root / "again" / name, ranks=3)
            self.assertEqual(sha256(self.root / "again" / name), sha256(self.root / name))

    def test_the_universe_of_the_file_is_that_of_the_seed(self):
        own, suites = self.particles(self.own), {}
        for name, ranks in (("noise", 1), ("noise", 2), ("noise.npy", 1), ("noise.npy", 3)):
            suite = suites[name, ranks] = self.root / f"{name}-{ranks}"
            succeed("cosmo-sim", *SIM, "--white-noise", self.root / name, "--output", suite, ranks=ranks)
            apart = self.particles(suite) - own
            apart -= 64 * np.round(apart / 64)
            self.assertLess(np.sqrt((apart**2).mean()), 1e-4 * 64 / SIDE)  # haloes amplify rounding
        self.assertEqual(contents(suites["noise", 1]), contents(suites["noise", 2]))
        self.assertEqual(contents(suites["noise.npy", 1]), contents(suites["noise.npy", 3]))
        manifests = [json.loads((suites[name].joinpath("manifest.json")).read_text()) for name in (("noise", 1), ("noise.npy", 1))]
        self.assertEqual(manifests[1]["config"]["white_noise"], {"sha256": sha256(self.root / "noise.npy")})
        self.assertNotEqual(manifests[0]["id"], manifests[1]["id"])
        # The seed in the records is that of no other file.
        self.assertEqual(manifests[1]["simulations"][0]["seed"], int(sha256(self.root / "noise.npy")[:13], 16))

    def test_the_files_name_does_not_matter(self):
        succeed("cosmo-sim", *SIM, "--white-noise", self.root / "noise", "--output", self.root / "first")
        (self.root / "other").write_bytes((self.root / "noise").read_bytes())
        self.assertTrue(succeed("cosmo-sim", *SIM, "--white-noise", self.root / "other", "--output", self.root / "first")["up_to_date"])

    def test_matter_gathers_where_noise_is_positive(self):
        """A crest at x = 1/4, y = 1/2, z = 0 of three waves, by the file's axes; the lattice point i L/N is that of the seed's field."""
        x, y, z = np.meshgrid(*[2 * np.pi * np.arange(SIDE) / SIDE] * 3, indexing="ij")
        noise = np.sqrt(2 / 3) * (np.cos(x - np.pi / 2) + np.cos(y - np.pi) + np.cos(z))
        np.save(self.root / "crest.npy", noise)  # float64
        write_grafic(self.root / "crest", noise)
        counts = []
        for name in ("crest.npy", "crest"):
            suite = self.root / f"of-{name}"
            succeed("cosmo-sim", *SIM, "--white-noise", self.root / name, "--grid", 8, "--output", suite)
            with h5py.File(suite / "sim-00000/counts_z0.h5") as file:
                counts.append(file["counts"][...].astype(int))
            for axis, crest in enumerate((np.pi / 2, np.pi, 0)):
                along = counts[-1].sum(axis=tuple({0, 1, 2} - {axis}))
                phase = np.angle((along * np.exp(-2j * np.pi * (np.arange(8) + 0.5) / 8)).sum())
                self.assertAlmostEqual(np.angle(np.exp(1j * (phase + crest))), 0, delta=0.05)
        self.assertLess(np.abs(counts[1] - counts[0]).sum(), 4)  # one is rounded to float

    def test_the_partner_is_the_universe_of_the_negative_noise(self):
        np.save(self.root / "negative.npy", -np.load(self.root / "noise.npy"))
        one, other = self.root / "paired", self.root / "negative"
        succeed("cosmo-sim", *SIM, "--white-noise", self.root / "noise.npy", "--paired", "--output", one)
        succeed("cosmo-sim", *SIM, "--white-noise", self.root / "negative.npy", "--output", other)
        np.testing.assert_array_equal(self.particles(one), self.particles(other))

    def test_what_is_refused(self):
        noise = np.load(self.root / "noise.npy")
        never = ["--output", self.root / "never"]
        of = lambda name: [*SIM, "--white-noise", self.root / name, *never]
        self.refused(IO, "does not exist", *of("absent"))
        self.refused(CONFIG, "one by one", *of("noise"), "--simulations", 2)
        self.refused(CONFIG, "leave one out", *of("noise"), "--seed", 3)
        self.refused(CONFIG, "32 x 32 x 32", *[16 if word == SIDE else word for word in of("noise")])
        write_grafic(self.root / "big", noise, ">")
        self.refused(FORMAT, "big-endian", *of("big"))
        for name, altered, part in (("nan", np.where(noise > 4, np.nan, noise), "not a finite number"), ("scaled", 1.1 * noise, "rms 1.09"),
                                    ("shifted", noise + 0.05, "mean 0.05"), ("integers", noise.astype("<i4"), "'<i4'"),
                                    ("turned", np.asfortranarray(noise), "Fortran's order")):
            np.save(self.root / f"{name}.npy", altered)
            self.refused(FORMAT, part, *of(f"{name}.npy"))
        (self.root / "short").write_bytes((self.root / "noise").read_bytes()[:-1])
        self.refused(FORMAT, "cut short", *of("short"))
        self.assertFalse((self.root / "never").exists())

    def test_what_noise_replaces(self):
        words = ["noise", "--seed", 1, "--particles", 8]
        path = self.root / "mine.npy"
        planned = succeed("cosmo-sim", *words, "--output", path, "--dry-run")
        self.assertEqual((planned["dry_run"], planned["refusals"], path.exists()), (True, [], False))
        succeed("cosmo-sim", *words, "--output", path)
        self.refused(CONFIG, "--force", *words, "--output", path)
        before = sha256(path)
        refusal, = succeed("cosmo-sim", *words, "--output", path, "--dry-run")["refusals"]
        self.assertIn("--force", refusal)
        self.assertEqual(sha256(path), before)
        succeed("cosmo-sim", *words[:1], "--seed", 2, *words[3:], "--output", path, "--force")
        self.assertNotEqual(sha256(path), before)
        (self.root / "text").write_text("a text")
        self.refused(CONFIG, "not a file of white noise", *words, "--output", self.root / "text", "--force")
        self.refused(CONFIG, "not a file of white noise", *words, "--output", self.root, "--force")

    def test_a_full_disk_leaves_no_part(self):
        path = self.root / "full.npy"
        done = run_with_faults({"DISK_BYTES": 300, "DISK_SUFFIX": "full.npy.part"}, "cosmo-sim", "noise", "--seed", 1, "--particles", 16,
                               "--output", path)
        self.assertEqual(done.returncode, IO, done.stderr)
        self.assertIn("full.npy.part", error_line(done, "cosmo-sim"))
        self.assertEqual(list(self.root.glob("full.npy*")), [])


if __name__ == "__main__":
    unittest.main()
