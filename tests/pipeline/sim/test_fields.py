"""cosmo-sim generate --save initial,velocity,web: fields on voxels, against numpy."""

import csv
import json
import unittest

import h5py
import numpy as np

from toolkit import DirectoryTest, error_line, run, sha256, succeed

SIDE, VOXELS, BOX = 32, 16, 128
UNIVERSE = ["generate", "--particles", SIDE, "--box", BOX, "--steps", 5, "--grid", VOXELS, "--redshifts", "0,1", "--save",
            "counts,particles,initial,velocity,web", "--web", "5:0.1"]


def field(path, name):
    with h5py.File(path) as file:
        return file[name][...].astype("f8"), dict(file.attrs)


def modes(values):
    """{(kx, ky, kz): coefficient} below the Nyquist wavenumber, kz >= 0, as of values at the nodes i L/n."""
    n = len(values)
    transformed, limit = np.fft.rfftn(values) / n**3, (n - 1) // 2
    return {(x, y, z): transformed[x, y, z] for x in range(-limit, limit + 1) for y in range(-limit, limit + 1) for z in range(limit + 1)}


def cloud_in_cell(x):
    """The density contrast of particles at voxels' centres."""
    density = np.zeros((VOXELS,) * 3)
    at = x * VOXELS / BOX - 0.5
    below = np.floor(at).astype(int)
    for corner in np.ndindex(2, 2, 2):
        weights = np.where(corner, at - below, 1 - (at - below)).prod(1)
        np.add.at(density, tuple(((below + corner) % VOXELS).T), weights)
    return density / density.mean() - 1


def eigenvalues(density, radius):
    """(n, n, n, 3) of the tidal tensor of a density that a Gaussian has smoothed."""
    n = len(density)
    k = np.array(np.meshgrid(*[np.fft.fftfreq(n, BOX / n) * 2 * np.pi] * 3, indexing="ij"))
    square = (k**2).sum(0)
    potential = np.fft.fftn(density) * np.exp(-square * radius**2 / 2) / np.where(square > 0, square, 1)
    slope = np.where(abs(k) > 0.999 * np.pi * n / BOX, 0, k)  # a wave at the Nyquist wavenumber has none
    tensor = np.array([[np.fft.ifftn(potential * (k[i]**2 if i == j else slope[i] * slope[j])).real for j in range(3)] for i in range(3)])
    return np.linalg.eigvalsh(np.moveaxis(tensor, (0, 1), (3, 4)))


class Fields(DirectoryTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        succeed("cosmo-sim", "noise", "--seed", 3, "--particles", SIDE, "--output", cls.root / "noise.npy")
        cls.suite = cls.root / "suite"
        cls.words = [*UNIVERSE, "--white-noise", cls.root / "noise.npy"]
        succeed("cosmo-sim", *cls.words, "--output", cls.suite)
        cls.files = cls.suite / "sim-00000"

    def test_the_initial_field_is_the_noise_with_the_spectrum_at_voxel_centres(self):
        initial, facts = field(self.files / "initial_z0.h5", "initial")
        self.assertEqual((initial.shape, facts["schema"], facts["quantity"], facts["voxel"]), ((VOXELS,) * 3, "cosmo.field/1", "initial", BOX / VOXELS))
        noise, found = modes(np.load(self.root / "noise.npy").astype("f8")), modes(initial)
        power = {}
        for k, value in found.items():
            if k == (0, 0, 0):
                continue
            at_nodes = value * np.exp(-1j * np.pi * sum(k) / VOXELS)  # half a voxel back
            self.assertLess(abs(np.angle(at_nodes / noise[k])), 1e-4, k)
            power.setdefault(round(float(np.linalg.norm(k))), []).append((abs(value)**2, 1 if k[2] == 0 else 2))
        with open(self.files / "power_spectrum.csv") as file:
            rows = list(csv.DictReader(file))
        for i, row in enumerate(rows[:VOXELS // 2 - 2]):
            values, weights = np.array(power[i + 1]).T
            self.assertEqual(weights.sum(), float(row["modes"]))
            self.assertAlmostEqual(np.average(values, weights=weights) * BOX**3 / float(row["p_initial"]), 1, delta=1e-4)
        beyond = np.fft.rfftn(initial)[VOXELS // 2]
        self.assertLess(abs(beyond).max(), 1e-5 * abs(np.fft.rfftn(initial)).max())

    def test_velocities_are_momenta_of_voxels_over_their_mean_mass(self):
        for z in (0, 1):
            with h5py.File(self.files / f"snapshot_z{z}.hdf5") as file:
                x, v = (file[f"PartType1/{name}"][...].astype("f8") for name in ("Coordinates", "Velocities"))
            velocity, facts = field(self.files / f"velocity_z{z}.h5", "velocity")
            self.assertEqual((velocity.shape, facts["redshift"]), ((3, *(VOXELS,) * 3), z))
            proper = v / (1 + z)**0.5  # Gadget's are v / sqrt(a)
            for axis in range(3):
                momenta = np.histogramdd(x, bins=VOXELS, range=[(0, BOX)] * 3, weights=proper[:, axis])[0]
                np.testing.assert_allclose(velocity[axis], momenta / (SIDE / VOXELS)**3, atol=2e-3)

    def test_classes_are_the_eigenvalues_of_the_tidal_tensor(self):
        for z in (0, 1):
            with h5py.File(self.files / f"snapshot_z{z}.hdf5") as file:
                density = cloud_in_cell(file["PartType1/Coordinates"][...].astype("f8"))
            with h5py.File(self.files / f"web_z{z}.h5") as file:
                web, facts = file["web"][...], dict(file.attrs)
            self.assertEqual((web.shape, web.dtype, facts["quantity"], facts["redshift"], facts["web_radius"], facts["web_threshold"]),
                             ((VOXELS,) * 3, "u1", "web", z, 5, 0.1))
            above = eigenvalues(density, 5) - 0.1
            sure = abs(above).min(-1) > 1e-4
            self.assertGreater(sure.mean(), 0.998)
            np.testing.assert_array_equal(web[sure], (above > 0).sum(-1)[sure])
            self.assertEqual(set(web.ravel()), {0, 1, 2, 3})
            found = succeed("cosmo-sim", "inspect", self.files / f"web_z{z}.h5", ranks=2)
            shares = np.bincount(web.ravel()) / web.size
            np.testing.assert_allclose(list(found["volume_shares"][name] for name in ("void", "wall", "filament", "node")), shares, rtol=1e-12)

    def test_classes_are_of_all_particles_in_real_space(self):
        output = self.root / "sparse"
        made = succeed("cosmo-sim", *self.words, "--tracers", "1/8", "--redshift-space", "z", "--output", output)
        self.assertNotEqual(sha256(output / "sim-00000/velocity_z0.h5"), sha256(self.files / "velocity_z0.h5"))
        for name in ("web_z0.h5", "web_z1.h5"):
            self.assertEqual(sha256(output / "sim-00000" / name), sha256(self.files / name), name)
        with h5py.File(self.files / "web_z0.h5") as file:
            shares = np.bincount(file["web"][...].ravel()) / VOXELS**3
        np.testing.assert_allclose(list(made["volume_shares"].values()), shares[[2, 3, 0, 1]])  # by name
        config = json.loads((output / "manifest.json").read_text())["config"]
        self.assertEqual((config["web"], config["web_radius_mpc_h"], config["web_threshold"]), (True, 5, 0.1))

    def test_the_density_lies_where_the_initial_field_does(self):
        """The phase between counts and initial field grows with k by half a voxel if one is of nodes."""
        suite = self.root / "aligned"
        succeed("cosmo-sim", "generate", "--particles", 32, "--box", 512, "--steps", 4, "--grid", 32, "--simulations", 8, "--save",
                "counts,initial", "--output", suite)
        cross = np.zeros(3, complex)
        for universe in json.loads((suite / "manifest.json").read_text())["simulations"]:
            counts, _ = field(suite / universe["outputs"][0]["counts"], "counts")
            initial, _ = field(suite / f"sim-{universe['index']:05}/initial_z0.h5", "initial")
            density, linear = np.fft.fftn(counts), np.fft.fftn(initial)
            for axis in range(3):
                at = [range(-3, 4)] * 3
                at[axis] = [1]
                cross[axis] += (density * linear.conj())[np.ix_(*at)].sum()
        self.assertLess(abs(np.angle(cross)).max() * 32 / (2 * np.pi), 0.1)  # voxels

    def test_inspect_reads_what_numpy_does(self):
        with open(self.files / "power_spectrum.csv") as file:
            rows = list(csv.DictReader(file))
        for ranks in (1, 2):
            found = succeed("cosmo-sim", "inspect", self.files / "initial_z0.h5", ranks=ranks)
            initial, _ = field(self.files / "initial_z0.h5", "initial")
            np.testing.assert_allclose([found["field"][0][name] for name in ("rms", "min", "max")], [initial.std(), initial.min(), initial.max()], rtol=1e-6)
            self.assertIn("bytes as the manifest's sha256", found["checks"])
            spectrum = found["power_spectrum"]
            for i in range(VOXELS // 2 - 2):
                self.assertAlmostEqual(spectrum["p"][i] / float(rows[i]["p_initial"]), 1, delta=1e-4)
            velocity, _ = field(self.files / "velocity_z1.h5", "velocity")
            found = succeed("cosmo-sim", "inspect", self.files / "velocity_z1.h5", ranks=ranks)
            np.testing.assert_allclose([axis["rms"] for axis in found["field"]], np.sqrt((velocity**2).mean((1, 2, 3))), rtol=1e-6)
        done = run("cosmo-sim", "inspect", self.files / "initial_z0.h5", "--png", self.root / "a.png")
        self.assertEqual(done.returncode, 2)
        self.assertIn("is a field", error_line(done, "cosmo-sim"))

    def test_any_ranks_write_the_same_bytes(self):
        for ranks in (2, 3):
            output = self.root / f"ranks-{ranks}"
            succeed("cosmo-sim", *self.words, "--ranks-per-simulation", ranks, "--output", output, ranks=ranks)
            for name in ("initial_z0.h5", "velocity_z0.h5", "velocity_z1.h5", "web_z0.h5", "web_z1.h5"):
                self.assertEqual(sha256(output / "sim-00000" / name), sha256(self.files / name), name)

    def test_a_finer_grid_than_the_particles_adds_no_waves(self):
        fine = self.root / "fine"
        succeed("cosmo-sim", "generate", "--particles", SIDE, "--box", BOX, "--steps", 1, "--grid", 2 * SIDE, "--white-noise",
                self.root / "noise.npy", "--save", "initial,no-power-spectrum", "--output", fine)
        coarse, finer = modes(field(self.files / "initial_z0.h5", "initial")[0]), modes(field(fine / "sim-00000/initial_z0.h5", "initial")[0])
        for k, value in coarse.items():
            turned = np.exp(1j * np.pi * sum(k) * (1 / (2 * SIDE) - 1 / VOXELS))
            self.assertAlmostEqual(abs(finer[k] - value * turned), 0, delta=1e-6)
        self.assertEqual([abs(value) > 1e-6 for k, value in finer.items() if max(map(abs, k)) >= SIDE // 2].count(True), 0)
        self.assertEqual(json.loads((fine / "manifest.json").read_text())["simulations"][0]["files"], ["sim-00000/initial_z0.h5"])

    def test_what_cannot_be(self):
        for words, part in ((["--pack", 2, "--save", "counts,initial"], "cannot hold the initial"), (["--save", "initials"], "initial"),
                            (["--web", "4:0.2"], "add web to --save"), (["--save", "web", "--web", "4"], "R:LAMBDA"), (["--save", "web", "--web", "0:0.2"], "above 0"),
                            (["--save", "web", "--grid", 2], "4 or more"), (["--pack", 2, "--save", "counts,web"], "cannot hold the web")):
            done = run("cosmo-sim", "generate", "--particles", 8, "--box", 64, *words, "--output", self.root / "no")
            self.assertIn(done.returncode, (2, 3))
            self.assertIn(part, error_line(done, "cosmo-sim"))
        fields = self.root / "fields"
        succeed("cosmo-sim", "generate", "--particles", 16, "--box", 64, "--steps", 1, "--simulations", 4, "--omega-m", "0.25:0.35",
                "--save", "initial", "--output", fields)
        done = run("cosmo-prep", "shard", "--input", fields, "--output", self.root / "no")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("--save counts", error_line(done, "cosmo-prep"))


if __name__ == "__main__":
    unittest.main()
