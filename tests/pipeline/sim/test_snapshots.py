"""Snapshots as yt and h5py read them, and cosmo-sim inspect on snapshots and counts."""

import re
import resource
import shutil
import signal
import subprocess
import unittest
import warnings

import h5py
import numpy as np

from toolkit import ENVIRONMENT, ROOT, TESTS, DirectoryTest, command, error_line, run, run_with_faults, sha256, succeed

N, BOX, REDSHIFT = 84, 80.0, 0.5  # 84³ particles take one rank two rounds to write
IO, FORMAT = 4, 5


def make_snapshot(path, side=N, box=BOX, spread="ordered", ranks=1, limit=None):
    """Runs the test program that writes a snapshot; `limit`: the largest file it may write, bytes."""
    def set_limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    return subprocess.run(command(ranks, TESTS / "make_snapshot", path, side, box, REDSHIFT, spread), env=ENVIRONMENT,
                          capture_output=True, text=True, timeout=120, preexec_fn=set_limit if limit else None)


def expected_particles():
    """Positions [Mpc/h] and peculiar velocities [km/s] of the particles of tests/support/example_particles.hpp."""
    q = np.stack(np.meshgrid(*[np.arange(N)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    phase = 2 * np.pi / N * q + np.arange(3)
    return (q * BOX / N + 2.2 * BOX / N * np.sin(phase)) % BOX, 100 * 1.5 * np.cos(phase) * (1 + REDSHIFT)


def clouds_in_cells(positions, n, box):
    """Particles in n³ cells, dealt out by cloud in cell between nodes in the middle of the cells."""
    scaled = positions / box * n - 0.5
    cell = np.floor(scaled).astype(int)
    fraction, mass = scaled - cell, np.zeros((n,) * 3)
    for corner in np.ndindex(2, 2, 2):
        weights = np.where(corner, fraction, 1 - fraction).prod(axis=1)
        np.add.at(mass, tuple(((cell + corner) % n).T), weights)
    return mass


def power_spectrum(counts, box, order):
    """P(k) of particles in cells with the window divided out, in bins of 2π/L; `order` of the assignment: 1 for nearest
    grid point, 2 for cloud in cell."""
    n = len(counts)
    modes = np.fft.fftn(counts / counts.mean() - 1) / counts.size
    k = np.fft.fftfreq(n, 1 / n)
    window = np.sinc(k / n) ** order  # numpy's sinc has the π
    power = np.abs(modes) ** 2 / (window[:, None, None] * window[:, None] * window) ** 2 * box**3
    index = np.rint(np.sqrt(k[:, None, None] ** 2 + k[:, None] ** 2 + k**2)).astype(int).ravel()
    sums, number = np.bincount(index, power.ravel()), np.bincount(index)
    return (sums / number)[1:n // 4 + 1], number[1:n // 4 + 1]


def measures(counts, box, order):
    """Columns of the tables of inspect, by sums over all separations and over the fields of shells, with numpy alone."""
    n = len(counts)
    k = np.fft.fftfreq(n, 1 / n)
    window = np.sinc(k / n) ** order
    modes = np.fft.fftn(counts / counts.mean() - 1) / counts.size / (window[:, None, None] * window[:, None] * window)
    modes[0, 0, 0] = 0
    length = np.sqrt(k[:, None, None] ** 2 + k[:, None] ** 2 + k**2)
    bins, xi = np.rint(length).astype(int).ravel(), np.fft.ifftn(np.abs(modes) ** 2).real.ravel() * n**3
    number = np.bincount(bins)
    correlation = {"r_mpc_h": np.bincount(bins, length.ravel()) / number * box / n, "separations": number,
                   "xi_z{z}": np.bincount(bins, xi) / number}
    edges = [0.5]
    while edges[-1] + max(2, edges[-1] // 4) <= n // 4 + 0.5:
        edges.append(edges[-1] + max(2, edges[-1] // 4))
    shells = [(length >= low) & (length < high) for low, high in zip(edges, edges[1:])]
    fields = [np.fft.ifftn(np.where(shell, modes, 0)).real * n**3 for shell in shells]
    units = [np.fft.ifftn(shell).real * n**3 for shell in shells]
    rows = []
    for field, unit, shell in zip(fields, units, shells):
        p, first = (box**3 * (f**2).mean() / s.sum() for f, s in ((field, shell), (fields[0], shells[0])))
        equal, squeezed = (unit**3).mean(), (unit**2 * units[0]).mean()
        b, c = box**6 * (field**3).mean() / equal, box**6 * (field**2 * fields[0]).mean() / squeezed
        rows.append([length[shell].mean() * 2 * np.pi / box, length[shells[0]].mean() * 2 * np.pi / box, equal, squeezed, p,
                     b, c, b / (3 * p**2), c / (2 * first * p + p**2)])
    names = ["k_h_mpc", "k_long_h_mpc", "triangles_equilateral", "triangles_squeezed", "p_z{z}", "b_equilateral_z{z}",
             "b_squeezed_z{z}", "q_equilateral_z{z}", "q_squeezed_z{z}"]
    return {name: column[1:n // 2 + 1] for name, column in correlation.items()}, dict(zip(names, np.transpose(rows)))


class SnapshotTest(DirectoryTest):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.snapshot = cls.root / "snapshot_z0.5.hdf5"
        done = make_snapshot(cls.snapshot)
        assert done.returncode == 0, done.stderr
        cls.small = cls.root / "small.hdf5"
        assert make_snapshot(cls.small, side=12).returncode == 0
        cls.sim = cls.root / "sim"
        succeed("cosmo-sim", "generate", "--box", 64, "--particles", 32, "--grid", 32, "--steps", 3, "--output",
                cls.sim)
        cls.counts = cls.sim / "sim-00000/counts_z0.h5"

    def refused(self, code, parts, *words, ranks=1):
        done = run("cosmo-sim", "inspect", *words, ranks=ranks)
        self.assertEqual(done.returncode, code, done.stderr)
        for part in parts:
            self.assertIn(str(part), error_line(done, "cosmo-sim"))

    def test_the_same_bytes_from_any_ranks(self):
        for ranks, spread in ((1, "scattered"), (2, "scattered"), (3, "ordered")):
            path = self.root / "again.hdf5"
            done = make_snapshot(path, spread=spread, ranks=ranks)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(sha256(path), sha256(self.snapshot), f"{ranks} ranks, {spread}")
            path.unlink()

    def test_h5py_reads_gadgets_layout(self):
        positions, velocities = expected_particles()
        with h5py.File(self.snapshot) as file:
            particles = file["PartType1"]
            self.assertEqual([particles[name].dtype for name in ("Coordinates", "Velocities", "ParticleIDs")],
                             [np.dtype("<f4"), np.dtype("<f4"), np.dtype("<u8")])
            difference = np.abs(particles["Coordinates"][:] - positions)
            self.assertLess(np.minimum(difference, BOX - difference).max(), 1e-5)
            np.testing.assert_allclose(particles["Velocities"][:], velocities * np.sqrt(1 + REDSHIFT), rtol=1e-5,
                                       atol=1e-3)
            np.testing.assert_array_equal(particles["ParticleIDs"][:], np.arange(1, N**3 + 1))
            header = file["Header"].attrs
            self.assertEqual(list(header["NumPart_ThisFile"]), [0, N**3, 0, 0, 0, 0])
            self.assertEqual(list(header["NumPart_Total"]), [0, N**3, 0, 0, 0, 0])
            self.assertEqual(header["NumFilesPerSnapshot"], 1)
            self.assertAlmostEqual(header["MassTable"][1] / (0.31 * 27.7536627 * (BOX / N) ** 3), 1, delta=1e-6)
            for group in ("Header", "Parameters"):
                for name, value in (("BoxSize", BOX), ("Omega0", 0.31), ("OmegaLambda", 0.69), ("HubbleParam", 0.68)):
                    self.assertEqual(file[group].attrs[name], value)
            self.assertEqual((header["Time"], header["Redshift"]), (1 / 1.5, 0.5))
            for group in ("Parameters", "Units"):
                self.assertEqual(file[group].attrs["UnitLength_in_cm"], 3.085678e24)
            self.assertEqual(file.attrs["schema"], "cosmo.snapshot/1")
            self.assertEqual(file.attrs["seed"], 42)
            self.assertEqual(list(file.attrs["parameter_names"]), ["omega_m", "sigma8", "n_s", "h", "omega_b", "w0", "wa"])
            self.assertEqual(list(file.attrs["parameter_values"]), [0.31, 0.8159, 0.9667, 0.68, 0.045, -1, 0])

    def test_yt_reads_positions_velocities_masses_and_cosmology(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import yt
            yt.set_log_level("error")
            with h5py.File(self.small) as file:
                units = dict(file["Units"].attrs)
                ids, positions = file["PartType1/ParticleIDs"][:], file["PartType1/Coordinates"][:]
                velocities = file["PartType1/Velocities"][:]
            data = yt.load(self.small, unit_base=units)
            everything = data.all_data()
            order = np.argsort(everything["PartType1", "ParticleIDs"])
            np.testing.assert_array_equal(everything["PartType1", "ParticleIDs"][order], ids)
            np.testing.assert_allclose(everything["PartType1", "Coordinates"].to_value("Mpccm/h")[order], positions,
                                       rtol=1e-6)
            np.testing.assert_allclose(everything["PartType1", "Velocities"].to_value("km/s")[order],
                                       velocities / np.sqrt(1.5), rtol=1e-5, atol=1e-3)
            mass = everything["PartType1", "Masses"].to_value("Msun/h")
            np.testing.assert_allclose(mass, 0.31 * 27.7536627e10 * BOX**3 / 12**3, rtol=1e-5)
            np.testing.assert_allclose(data.domain_width.to_value("Mpccm/h"), BOX, rtol=1e-6)
            self.assertEqual((data.current_redshift, data.omega_matter, data.omega_lambda, data.hubble_constant),
                             (0.5, 0.31, 0.69, 0.68))

    def test_a_full_disk_is_one_sentence(self):
        path = self.root / "full.hdf5"
        done = make_snapshot(path, limit=8 << 20)
        self.assertEqual(done.returncode, IO)
        sentences = [line for line in done.stderr.splitlines() if "cannot be written" in line]
        self.assertEqual(len(sentences), 1, done.stderr)
        self.assertIn(str(path), sentences[0])

    def test_inspect_a_snapshot(self):
        found = succeed("cosmo-sim", "inspect", self.snapshot)
        self.assertEqual(found, succeed("cosmo-sim", "inspect", self.snapshot, ranks=2))
        self.assertEqual((found["kind"], found["particles"], found["box_mpc_h"], found["redshift"], found["seed"]),
                         ("snapshot", N**3, BOX, REDSHIFT, 42))
        self.assertEqual(found["parameters"],
                         {"omega_m": 0.31, "sigma8": 0.8159, "n_s": 0.9667, "h": 0.68, "omega_b": 0.045,
                          "w0": -1, "wa": 0})
        velocities = expected_particles()[1]
        self.assertAlmostEqual(found["rms_velocity_km_s"] / np.sqrt((velocities**2).sum(axis=1).mean()), 1, delta=1e-4)
        self.assertLess(np.abs(found["mean_velocity_km_s"]).max(), 1e-2)
        with h5py.File(self.snapshot) as file:
            positions = file["PartType1/Coordinates"][:].astype("f8")
        self.compare_power(found, clouds_in_cells(positions, N, BOX), 2)

    def test_inspect_counts(self):
        found = succeed("cosmo-sim", "inspect", self.counts)
        self.assertEqual(found, succeed("cosmo-sim", "inspect", self.counts, ranks=2))
        self.assertEqual((found["kind"], found["cells_per_side"], found["particles"]), ("counts", 32, 32**3))
        self.assertEqual(len(found["checks"]), 2)  # the sum, and the suite's manifest
        with h5py.File(self.counts) as file:
            counts = file["counts"][:]
        self.assertEqual(found["counts"], {"mean": 1, "max": counts.max(), "empty_fraction": np.mean(counts == 0)})
        self.compare_power(found, counts, 1)
        text = run("cosmo-sim", "inspect", self.counts).stdout
        for part in ("32³ voxels", "64 Mpc/h", "omega_m 0.3089", "shot noise 8 ", "counts sum"):
            self.assertIn(part, text)

    def test_counts_in_the_newest_format(self):
        """Texts are read from headers of version 2, and refused where their attributes are stored elsewhere: by default if there are more than eight."""
        path = self.root / "newest.h5"
        for in_the_header in (True, False):
            with self.subTest(in_the_header=in_the_header):
                creation, access = h5py.h5p.create(h5py.h5p.FILE_CREATE), h5py.h5p.create(h5py.h5p.FILE_ACCESS)
                access.set_libver_bounds(h5py.h5f.LIBVER_LATEST, h5py.h5f.LIBVER_LATEST)
                if in_the_header:
                    creation.set_attr_phase_change(30, 20)
                with h5py.File(self.counts) as old, h5py.File(h5py.h5f.create(bytes(path), h5py.h5f.ACC_TRUNC, creation, access)) as new:
                    old.copy("counts", new)
                    for name, value in old.attrs.items():
                        new.attrs[name] = value
                    self.assertGreater(len(new.attrs), 8)
                self.assertIn(b"OHDR", path.read_bytes())
                if in_the_header:
                    self.assertEqual(succeed("cosmo-sim", "inspect", path)["parameters"], succeed("cosmo-sim", "inspect", self.counts)["parameters"])
                else:
                    self.refused(FORMAT, [path, "attribute schema"], path, ranks=2)

    def test_inspect_of_a_grid_that_is_too_coarse_for_modes(self):
        for grid in 1, 2, 3:
            output, image = self.root / f"coarse{grid}", self.root / f"coarse{grid}.png"
            succeed("cosmo-sim", "generate", "--particles", 4, "--box", 10, "--grid", grid, "--output", output)
            words = [output / "sim-00000/counts_z0.h5", "--png", image]
            found = succeed("cosmo-sim", "inspect", *words)
            content = image.read_bytes()
            self.assertEqual(found, succeed("cosmo-sim", "inspect", *words, ranks=2))
            self.assertEqual(image.read_bytes(), content)
            self.assertEqual((found["cells_per_side"], found["particles"], found["power_spectrum"]), (grid, 64, None))
            with h5py.File(words[0]) as file:
                self.assertEqual(found["counts"]["max"], file["counts"][:].max())
                self.assertEqual(found["png"]["max_particles"], file["counts"][0].max())
            self.assertIn(f"none: {grid}³ cells", run("cosmo-sim", "inspect", *words).stdout)

    def test_the_summarys_fields_are_the_documented_ones(self):
        documented = (ROOT / "docs/reference/formats.md").read_text()
        table = documented.split("**The summary of `cosmo-sim inspect`**")[1].split("\n\n")[1]
        rows = [line.split("|")[1:4] for line in table.splitlines()[2:]]
        for kind, path in ("counts", self.counts), ("snapshot", self.small):
            fields = [re.findall(r"`(\w+)`", names) for names, of, _ in rows if of.strip() in (kind, "both")]
            found = succeed("cosmo-sim", "inspect", path, "--png", self.root / f"{kind}.png", "--correlation-function",
                            self.root / f"{kind}_xi.csv", "--bispectrum", self.root / f"{kind}_b.csv")
            self.assertEqual(sorted(sum(fields, [])), sorted(found))
            for name in ("counts", "power_spectrum", "png", "correlation_function", "bispectrum"):
                inner = re.search(rf"`{name}` \|[^{{]*{{([^}}]*)}}", table)[1].split(", ")
                self.assertEqual(sorted(inner), sorted(found.get(name, inner)))

    def compare_power(self, found, counts, order):
        spectrum = found["power_spectrum"]
        power, modes = power_spectrum(counts, found["box_mpc_h"], order)
        self.assertEqual(spectrum["modes"], list(modes))
        np.testing.assert_allclose(spectrum["p"], power, rtol=1e-4, atol=1e-6 * power.max())
        self.assertAlmostEqual(spectrum["shot_noise"], found["box_mpc_h"] ** 3 / found["particles"], places=9)

    def test_particles_near_their_lattice_have_the_power_that_the_simulation_measures(self):
        wide = self.root / "wide"
        succeed("cosmo-sim", "generate", "--particles", 64, "--box", 512, "--save", "particles", "--redshifts", "0,3",
                "--output", wide)
        table = np.genfromtxt(wide / "sim-00000/power_spectrum.csv", delimiter=",", names=True)
        for redshift in 0, 3:
            snapshot, image = wide / f"sim-00000/snapshot_z{redshift}.hdf5", self.root / f"wide{redshift}.png"
            found = succeed("cosmo-sim", "inspect", snapshot, "--png", image)
            np.testing.assert_allclose(found["power_spectrum"]["p"], table[f"p_z{redshift}"][:16], rtol=1e-4)
            np.testing.assert_array_equal(found["power_spectrum"]["k_h_mpc"], table["k_h_mpc"][:16])
            content = image.read_bytes()
            self.assertEqual(found, succeed("cosmo-sim", "inspect", snapshot, "--png", image, ranks=3))
            self.assertEqual(image.read_bytes(), content)
            with h5py.File(snapshot) as file:
                positions = file["PartType1/Coordinates"][:].astype("f8")
            columns = clouds_in_cells(positions, 64, 512)[:4].sum(axis=0)
            self.assertAlmostEqual(found["png"]["max_particles"], columns.max(), delta=1e-2)

    def test_tables_of_correlation_and_bispectrum(self):
        with h5py.File(self.small) as file:
            positions = file["PartType1/Coordinates"][:].astype("f8")
        with h5py.File(self.counts) as file:
            counts = file["counts"][:]
        for path, mass, box, order, z in ((self.counts, counts, 64, 1, 0),
                                          (self.small, clouds_in_cells(positions, 12, BOX), BOX, 2, REDSHIFT)):
            tables = self.root / "xi.csv", self.root / "b.csv"
            words = [path, "--correlation-function", tables[0], "--bispectrum", tables[1]]
            found = succeed("cosmo-sim", "inspect", *words)
            content = [table.read_bytes() for table in tables]
            self.assertEqual(found, succeed("cosmo-sim", "inspect", *words, ranks=3))
            self.assertEqual([table.read_bytes() for table in tables], content)
            for table, expected in zip(tables, measures(mass, box, order)):
                rows = np.genfromtxt(table, delimiter=",", names=True)
                self.assertEqual(list(rows.dtype.names), [name.format(z=z).replace(".", "") for name in expected])
                for name, column in zip(rows.dtype.names, expected.values()):
                    np.testing.assert_allclose(rows[name], column, rtol=1e-4, atol=2e-5 * np.abs(column).max(), err_msg=name)
            self.assertEqual(found["correlation_function"], {"path": str(tables[0]), "bins": len(mass) // 2})
            self.assertEqual(found["bispectrum"], {"path": str(tables[1]), "shells": len(content[1].splitlines()) - 1})
        self.refused(3, ["--bispectrum", "xi.csv", "not a table of a bispectrum"], self.counts, "--bispectrum", tables[0])
        self.refused(3, ["--correlation-function", "both"], self.counts, "--correlation-function", "same.csv", "--bispectrum",
                     "same.csv", ranks=2)
        coarse = self.root / "coarse"
        succeed("cosmo-sim", "generate", "--particles", 4, "--box", 10, "--grid", 3, "--output", coarse)
        self.refused(3, ["--bispectrum", "3³", "4³"], coarse / "sim-00000/counts_z0.h5", "--bispectrum", self.root / "new.csv")
        self.assertFalse((self.root / "new.csv").exists())

    def test_the_simulation_measures_as_inspect_does(self):
        suite = self.root / "measured"
        succeed("cosmo-sim", "generate", "--particles", 32, "--box", 64, "--steps", 3, "--save",
                "particles,correlation-function,bispectrum", "--redshifts", "0,0.5", "--output", suite)
        folder = suite / "sim-00000"
        for name in "correlation-function", "bispectrum":
            whole = np.genfromtxt(folder / f"{name.replace('-', '_')}.csv", delimiter=",", names=True)
            for z in "0", "0.5":
                table = self.root / f"{name}{z}.csv"
                succeed("cosmo-sim", "inspect", folder / f"snapshot_z{z}.hdf5", f"--{name}", table)
                rows = np.genfromtxt(table, delimiter=",", names=True)
                for column in rows.dtype.names:
                    np.testing.assert_allclose(rows[column], whole[column], rtol=1e-3, atol=1e-4 * np.abs(rows[column]).max())

    def test_a_slice_is_drawn(self):
        image = self.root / "slice.png"
        found = succeed("cosmo-sim", "inspect", self.counts, "--png", image, "--thickness", 7)
        content = image.read_bytes()
        self.assertEqual(content[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual([int.from_bytes(content[i:i + 4], "big") for i in (16, 20)], [512, 512])
        with h5py.File(self.counts) as file:
            columns = file["counts"][:4].sum(axis=0)  # 3.5 voxels of 2 Mpc/h, rounded
        self.assertEqual(found["png"], {"path": str(image), "thickness_mpc_h": 8, "max_particles": columns.max()})
        succeed("cosmo-sim", "inspect", self.counts, "--png", image, "--thickness", 7, ranks=2)
        self.assertEqual(image.read_bytes(), content)
        self.assertFalse(image.with_suffix(".png.part").exists())
        self.refused(IO, ["/nowhere/"], self.counts, "--png", "/nowhere/slice.png")
        self.refused(3, ["--thickness"], self.counts, "--png", image, "--thickness", -1)
        thick = succeed("cosmo-sim", "inspect", self.counts, "--png", image, "--thickness", 1e300)
        self.assertEqual(thick["png"]["thickness_mpc_h"], 64)

    def test_a_full_disk_leaves_no_part_of_an_image(self):
        image = self.root / "full.png"
        done = run_with_faults({"DISK_BYTES": 0, "DISK_SUFFIX": ".png.part"}, "cosmo-sim", "inspect", self.counts,
                               "--png", image)
        self.assertEqual(done.returncode, IO, done.stderr)
        self.assertIn("full.png.part cannot be written", error_line(done, "cosmo-sim"))
        self.assertEqual(list(self.root.glob("full.png*")), [])

    def test_an_image_does_not_replace_what_is_inspected(self):
        copy, link = self.root / "copy.png.part", self.root / "link.png"
        shutil.copy(self.counts, copy)
        link.symlink_to(copy)
        for image in (copy, link, self.root / "copy.png"):
            self.refused(3, ["--png", image], copy, "--png", image, ranks=2)
        self.assertEqual(sha256(copy), sha256(self.counts))

    def test_an_image_replaces_images_alone(self):
        text, before = self.root / "text.png", "not to be lost"
        text.write_text(before)
        self.refused(3, ["--png", text, "not a PNG"], self.counts, "--png", text, ranks=2)
        (self.root / "new.png.part").write_text(before)
        self.refused(3, ["--png", "new.png.part", "not a PNG"], self.counts, "--png", self.root / "new.png")
        self.refused(3, ["--png", self.sim, "not a PNG"], self.counts, "--png", self.sim)
        self.assertEqual((text.read_text(), (self.root / "new.png.part").read_text()), (before, before))

    def test_what_is_missing_or_foreign(self):
        text, foreign = self.root / "text.h5", self.root / "foreign.h5"
        text.write_text("no HDF5")
        with h5py.File(foreign, "w") as file:
            file["x"] = np.arange(3)
        self.refused(IO, [self.root / "absent"], self.root / "absent", ranks=2)
        self.refused(IO, [self.root], self.root)
        self.refused(FORMAT, [text, "not an HDF5 file"], text, ranks=2)
        self.refused(FORMAT, [foreign, "schema"], foreign)
        with h5py.File(foreign, "a") as file:
            file.attrs["schema"] = "someone.else/1"
        self.refused(FORMAT, [foreign, "someone.else/1"], foreign)

    def test_damaged_snapshots(self):
        def attribute(name, value):
            group, _, name = name.rpartition("/")
            return lambda file: file[group or "/"].attrs.__setitem__(name, value)

        def replace(name, values):
            def change(file):
                del file[name]
                file[name] = values
            return change

        def edit(name, row, value):
            return lambda file: file[name].__setitem__(row, value)

        total = 12**3
        for change, part in (
                (attribute("Header/NumPart_ThisFile", np.array([0, 10**12, 0, 0, 0, 0], "u8")), "too small"),
                (attribute("Header/NumFilesPerSnapshot", 2), "disagree"),
                (attribute("Header/MassTable", np.ones(6)), "disagree"),
                (attribute("Header/MassTable", np.full(6, np.nan)), "disagree"),
                (attribute("Header/BoxSize", np.nan), "box"),
                (attribute("Header/Redshift", -0.5), "redshift"),
                (attribute("Header/Time", 0.3), "Header/Time = 0.3"),
                (attribute("Header/Omega0", 0.9), "Header/Omega0 = 0.9"),
                (attribute("Header/HubbleParam", np.nan), "Header/HubbleParam"),
                (attribute("Parameters/OmegaBaryon", 0.05), "Parameters/OmegaBaryon = 0.05"),
                (attribute("Units/UnitLength_in_cm", 3.085678e21), "Units/UnitLength_in_cm = 3.085678e+21"),
                (lambda file: file.__delitem__("Units"), "Units"),
                (attribute("parameter_values", np.array([0.31, 5, 0.9667, 0.68, 0.045, -1, 0])), "sigma8 is 5"),
                (attribute("parameter_values", np.full(7, np.nan)), "omega_m"),
                (lambda file: file["Header"].attrs.__delitem__("Redshift"), "Redshift"),
                (lambda file: file.__delitem__("PartType1/Velocities"), "Velocities"),
                (replace("PartType1/Coordinates", np.zeros((total, 2), "f4")), "shape"),
                (replace("PartType1/Coordinates", np.zeros((total, 3), "f8")), "type"),
                (replace("PartType1/ParticleIDs", np.zeros(total - 1, "u8")), "shape"),
                (edit("PartType1/ParticleIDs", 7, 7), "row 7"),
                (edit("PartType1/Coordinates", 3, np.nan), "particle 4"),
                (edit("PartType1/Coordinates", 3, BOX), "particle 4"),
                (edit("PartType1/Velocities", total - 1, -np.inf), f"particle {total}")):
            damaged = self.root / "damaged.hdf5"
            shutil.copy(self.small, damaged)
            with h5py.File(damaged, "a") as file:
                change(file)
            self.refused(FORMAT, [damaged, part], damaged)
        self.refused(FORMAT, [damaged, f"particle {total}"], damaged, ranks=2)  # which the second rank alone reads
        with damaged.open("r+b") as file:
            file.truncate(30000)
        self.refused(FORMAT, [damaged], damaged, ranks=2)

    def test_damaged_counts(self):
        damaged = self.root / "damaged.h5"
        shutil.copy(self.counts, damaged)
        with h5py.File(damaged, "a") as file:
            file["counts"][3, 4, 5] += 1
        self.refused(FORMAT, [damaged, "32769"], damaged)
        for name, value, part in (("redshift", -3.0, "redshift -3"),
                                  ("parameter_values", [0.3089, 0.8159, 0.9667, 7, 0.045, -1, 0], "h is 7")):
            shutil.copy(self.counts, damaged)
            with h5py.File(damaged, "a") as file:
                file.attrs[name] = value
            self.refused(FORMAT, [damaged, part], damaged, ranks=2)
        suite = self.root / "suite"
        shutil.copytree(self.sim, suite)
        counts = suite / "sim-00000/counts_z0.h5"
        content = bytearray(counts.read_bytes())
        content[1310] ^= 64
        counts.write_bytes(content)
        self.refused(FORMAT, [counts, "sha256"], counts, ranks=2)


if __name__ == "__main__":
    unittest.main()
