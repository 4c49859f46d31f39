"""cosmo-prep shard --target initial, web: a field or classes beside the counts of each sample, against numpy."""

import json
import unittest

import h5py
import numpy as np

import cosmo_data
from toolkit import DirectoryTest, contents, error_line, flip, printed, record_again, run, succeed

CONFIG, FORMAT = 3, 5
BOX, VOXELS = 64, 16
SUITE = ["generate", "--sigma8", "0.78:0.95", "--simulations", 5, "--box", BOX, "--particles", VOXELS, "--steps", 3, "--grid", VOXELS]


class Pairs(DirectoryTest):
    """Classes have `data` with a target."""

    def exported_and_back(self):
        """Arrays of the data, which become the same data again."""
        exported, back = self.root / "exported", self.root / "back"
        succeed("cosmo-prep", "export", "--input", self.data, "--format", "npy", "--output", exported)
        succeed("cosmo-prep", "import", "--input", exported, "--format", "npy", "--output", back)
        for path in self.data.glob("*/*.h5"):
            self.assertEqual(path.read_bytes(), (back / path.relative_to(self.data)).read_bytes())
        return exported

    def as_others(self, target, exported):
        """(lines of a table of the same arrays, the table, the words that import it): as those of another program, imported here."""
        rows = [f"test/shard-00000_{i:05}.npy,test/shard-00000_{i:05}_{target}.npy,{i},{0.8 + i / 100}" for i in range(6)]
        table = self.root / "pairs.csv"
        words = ["import", "--input", exported, "--samples", table, "--format", "npy", "--box", BOX // 2, "--validation", 1, "--test", 2]
        table.write_text("\n".join([f"file,target_{target},simulation,sigma8", *rows]) + "\n")
        succeed("cosmo-prep", *words, "--output", self.root / "foreign")
        succeed("cosmo-prep", "verify", self.root / "foreign")
        return rows, table, words


class Targets(Pairs):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.suite, cls.without, cls.data = (cls.root / name for name in ("suite", "without", "data"))
        succeed("cosmo-sim", *SUITE, "--save", "counts,initial,velocity", "--output", cls.suite)
        succeed("cosmo-sim", *SUITE, "--output", cls.without)
        cls.whole = ["shard", "--input", cls.suite, "--target", "initial"]
        cls.words = [*cls.whole, "--rolls", 1, "--samples-per-shard", 10]
        succeed("cosmo-prep", *cls.words, "--output", cls.data)

    def fields(self, simulation):
        folder = self.suite / f"sim-{simulation:05}"
        with h5py.File(folder / "counts_z0.h5") as counts, h5py.File(folder / "initial_z0.h5") as initial:
            return counts["counts"][:], initial["initial"][:]

    def test_targets_are_cut_and_rolled_with_their_counts(self):
        rolled = 0
        for name in ("train", "validation", "test"):
            split = cosmo_data.Split(self.data, name)
            for i in range(len(split)):
                identity = split.identity(i)
                with h5py.File(self.data / identity.shard) as shard:
                    shift = shard["shift"][identity.row].astype(int)
                counts, initial = (np.roll(field, -shift, (0, 1, 2)) for field in self.fields(identity.simulation))
                half = VOXELS // 2
                cut = tuple(slice(half * (identity.subvolume >> bit & 1), half * (identity.subvolume >> bit & 1) + half) for bit in (2, 1, 0))
                np.testing.assert_array_equal(split.voxels(i), counts[cut])
                np.testing.assert_array_equal(split.target(i), initial[cut])
                rolled += any(shift)
        self.assertEqual(rolled, 3 * 8)

    def test_velocities_are_cut_and_rolled_with_their_counts(self):
        data = self.root / "moving"
        succeed("cosmo-prep", *self.words, "--velocity", "--output", data)
        succeed("cosmo-prep", "verify", data)
        split, plain = cosmo_data.Split(data, "train"), cosmo_data.Split(self.data, "train")
        for i in (0, 9, 30):
            identity = split.identity(i)
            with h5py.File(data / identity.shard) as shard, h5py.File(self.suite / f"sim-{identity.simulation:05}/velocity_z0.h5") as file:
                self.assertEqual(shard.attrs["schema_version"], 4)
                counts = self.fields(identity.simulation)[0].astype("f8")
                mean = np.where(counts > 0, file["velocity"][:] * counts.mean() / np.maximum(counts, 1), 0)
                velocity = np.roll(mean, -shard["shift"][identity.row].astype(int), (1, 2, 3))
            half = VOXELS // 2
            first = [half * (identity.subvolume >> bit & 1) for bit in (2, 1, 0)]
            np.testing.assert_allclose(split.velocity(i), velocity[(slice(None), *(slice(low, low + half) for low in first))], rtol=1e-6)
            np.testing.assert_array_equal(split.voxels(i), plain.voxels(i))
            np.testing.assert_array_equal(split.target(i), plain.target(i))
        stated = json.loads((data / "manifest.json").read_text())["velocity"]
        values = np.stack([split.velocity(i) for i in range(len(split))]).astype("f8")
        np.testing.assert_allclose(stated["statistics"]["deviation"], values.std(), rtol=1e-6)
        self.assertEqual(stated["redshift"], 0)
        self.assertIn("velocity    mean of the particles in each voxel", printed("cosmo-prep", "describe", data))
        with self.assertRaisesRegex(cosmo_data.DataError, "no velocities"):
            plain.velocity(0)

    def test_coarser_targets_are_means(self):
        succeed("cosmo-prep", *self.whole, "--velocity", "--grid", VOXELS // 2, "--subvolumes", 1, "--output", self.root / "coarse")
        split = cosmo_data.Split(self.root / "coarse", "test")
        _, initial = self.fields(split.identity(0).simulation)
        half = VOXELS // 2
        means = initial.astype("f8").reshape(half, 2, half, 2, half, 2).mean((1, 3, 5))
        np.testing.assert_allclose(split.target(0), means, rtol=1e-6, atol=1e-6)
        with h5py.File(self.suite / f"sim-{split.identity(0).simulation:05}/velocity_z0.h5") as file:
            sums = file["velocity"][:].astype("f8").reshape(3, half, 2, half, 2, half, 2).sum((2, 4, 6))  # one particle per voxel, on average
        counts = split.voxels(0).astype("f8")
        np.testing.assert_allclose(split.velocity(0), np.where(counts > 0, sums / np.maximum(counts, 1), 0), rtol=1e-5, atol=1e-3)

    def test_statistics_are_those_of_training(self):
        manifest = json.loads((self.data / "manifest.json").read_text())
        split = cosmo_data.Split(self.data, "train")
        values = np.stack([split.target(i) for i in range(len(split))]).astype("f8")
        stated = manifest["target"]["statistics"]
        self.assertEqual((stated["minimum"], stated["maximum"]), (values.min(), values.max()))
        np.testing.assert_allclose((stated["mean"], stated["deviation"]), (values.mean(), values.std()), rtol=1e-6, atol=1e-9)
        self.assertIn("target      initial, 8 × 8 × 8 voxels", printed("cosmo-prep", "describe", self.data))

    def test_bytes_do_not_depend_on_ranks_or_on_fields_that_are_not_asked_for(self):
        succeed("cosmo-prep", *self.words, "--output", self.root / "two", ranks=2)
        self.assertEqual(*[{path: data for path, data in contents(directory).items() if path.endswith(".h5")} for directory in (self.data, self.root / "two")])
        plain = {}
        for suite in (self.suite, self.without):
            output = self.root / f"plain-{suite.name}"
            succeed("cosmo-prep", "shard", "--input", suite, "--output", output)
            with h5py.File(output / "train/shard-00000.h5") as shard:
                plain[suite.name] = (shard.attrs["schema_version"], sorted(shard), shard["x"][:].tobytes())
        self.assertEqual(plain["suite"], plain["without"])
        self.assertEqual(plain["suite"][0], 2)

    def test_damage_is_found(self):
        copy = self.root / "damaged"
        succeed("cosmo-prep", *self.words, "--output", copy)
        shard = copy / "test/shard-00000.h5"
        with h5py.File(shard) as file:
            place = file["t"].id.get_chunk_info(3).byte_offset
        flip(shard, place + 9)
        record_again(copy, shard)
        done = run("cosmo-prep", "verify", copy)
        self.assertEqual(done.returncode, FORMAT)
        self.assertIn("test/shard-00000.h5 sample 3 differs from its crc32", done.stderr)
        with self.assertRaisesRegex(cosmo_data.DataError, "sample 3 differs"):
            cosmo_data.Split(copy, "test").target(3)
        succeed("cosmo-prep", "verify", self.data)

    def test_what_cannot_be_is_refused(self):
        succeed("cosmo-prep", *self.whole, "--velocity", "--output", self.root / "with-velocities")
        succeed("cosmo-sim", *SUITE, "--save", "counts,velocity", "--tracers", "1/4", "--output", self.root / "thinned")
        for code, parts, words in ((CONFIG, ["has no initial field", "--save counts,initial"], ["shard", "--input", self.without, "--target", "initial"]),
                                   (CONFIG, ["has no velocities", "--save counts,velocity"], ["shard", "--input", self.without, "--velocity"]),
                                   (CONFIG, ["--tracers", "leave out --velocity"], ["shard", "--input", self.root / "thinned", "--velocity"]),
                                   (CONFIG, ["--velocity is for counts at one redshift"], ["shard", "--input", self.without, "--velocity", "--redshifts", "0,1"]),
                                   (CONFIG, ["has velocities", "without --velocity"], ["export", "--input", self.root / "with-velocities", "--format", "npy"]),
                                   (CONFIG, ["has a target", "--format npy"], ["export", "--input", self.data, "--format", "tfrecord"])):
            done = run("cosmo-prep", *words, "--output", self.root / "refused")
            self.assertEqual(done.returncode, code, done.stderr)
            for part in parts:
                self.assertIn(part, error_line(done, "cosmo-prep"))
            self.assertFalse((self.root / "refused/manifest.json").exists())
        with self.assertRaisesRegex(cosmo_data.DataError, "no target"):
            succeed("cosmo-prep", "shard", "--input", self.without, "--output", self.root / "untargeted")
            cosmo_data.Split(self.root / "untargeted", "test").target(0)

    def test_pairs_of_arrays(self):
        exported = self.exported_and_back()
        split = cosmo_data.Split(self.data, "test")
        np.testing.assert_array_equal(np.load(exported / "test/shard-00000_00003_initial.npy"), split.target(3))
        # The same arrays as those of another program: a table of its own, a target that is wrong.
        rows, table, words = self.as_others("initial", exported)
        foreign = cosmo_data.Split(self.root / "foreign", "test")
        for i in range(2):
            number = foreign.identity(i).simulation
            np.testing.assert_array_equal(foreign.voxels(i), split.voxels(number))
            np.testing.assert_array_equal(foreign.target(i), split.target(number))
        for name, values, part in (("small", np.zeros((4, 4, 4), "f4"), "give a target on the same voxels"),
                                   ("nan", np.full(split.shape, np.nan, "f4"), "nan.npy")):
            np.save(exported / f"{name}.npy", values)
            table.write_text("\n".join(["file,target_initial,simulation,sigma8", *rows[:5], rows[5].replace("test/shard-00000_00005_initial", name)]) + "\n")
            done = run("cosmo-prep", *words, "--output", self.root / "wrong")
            self.assertEqual(done.returncode, FORMAT, done.stderr)
            self.assertIn(part, error_line(done, "cosmo-prep"))

    def test_one_cosmology_is_enough_for_a_field(self):
        suite, data, exported, back = (self.root / name for name in ("one", "of-one", "one-exported", "one-back"))
        succeed("cosmo-sim", *[word for word in SUITE if word not in ("--sigma8", "0.78:0.95")], "--save", "counts,initial", "--output", suite)
        succeed("cosmo-prep", "shard", "--input", suite, "--target", "initial", "--subvolumes", 1, "--output", data)
        succeed("cosmo-prep", "verify", data)
        split = cosmo_data.Split(data, "train")
        self.assertEqual((split.names, split[0].parameters.shape, split.labels(0).shape), ([], (0,), (0,)))
        succeed("cosmo-prep", "export", "--input", data, "--format", "npy", "--output", exported)
        succeed("cosmo-prep", "import", "--input", exported, "--format", "npy", "--output", back)
        self.assertEqual((data / "train/shard-00000.h5").read_bytes(), (back / "train/shard-00000.h5").read_bytes())
        table = self.root / "one.csv"
        lines = (exported / "samples.csv").read_text().splitlines()
        table.write_text("\n".join(["file,target_initial,simulation,omega_m", *(f"{cells[0]},{cells[11]},{cells[3]},0.3" for cells in (line.split(",") for line in lines[1:]))]) + "\n")
        succeed("cosmo-prep", "import", "--input", exported, "--samples", table, "--format", "npy", "--box", BOX, "--output", self.root / "one-foreign")
        lines = table.read_text().splitlines()
        first, second = (line.split(",") for line in lines[1:3])
        table.write_text("\n".join([lines[0], ",".join([first[0], second[1], *first[2:]]), ",".join([second[0], first[1], *second[2:]]), *lines[3:]]) + "\n")
        done = run("cosmo-prep", "import", "--input", exported, "--samples", table, "--format", "npy", "--box", BOX, "--output", self.root / "one-swapped")
        self.assertEqual(done.returncode, FORMAT, done.stderr)
        self.assertIn(f"{first[0]} and its target {second[1]} have a correlation of", error_line(done, "cosmo-prep"))
        # A target of the other sign, and all of them with another mean.
        rest = [line.split(",") for line in lines[1:]]
        for name, change in (("negative", lambda field: -field), ("shifted", lambda field: field + 1)):
            changed = [[cells[0], cells[1].replace("_initial", f"_{name}"), *cells[2:]] for cells in rest]
            for cells, before in zip(changed, rest):
                np.save(exported / cells[1], change(np.load(exported / before[1])))
            some = [changed[0], *rest[1:]] if name == "negative" else changed
            table.write_text("\n".join([lines[0], *(",".join(cells) for cells in some)]) + "\n")
            done = run("cosmo-prep", "import", "--input", exported, "--samples", table, "--format", "npy", "--box", BOX, "--output", self.root / f"one-{name}")
            self.assertEqual(done.returncode, FORMAT if name == "negative" else 0, done.stderr)
            self.assertIn("have a correlation of -0." if name == "negative" else "has a mean of 1 ", done.stderr)
        done = run("cosmo-train", "--data", data, "--target", "initial", "--reconstruct", 0, "--network", "reconet", "--output", self.root / "zero")
        self.assertEqual(done.returncode, CONFIG)
        self.assertIn("--reconstruct 0 is not positive", error_line(done, "cosmo-train"))
        done = run("cosmo-prep", "shard", "--input", suite, "--output", self.root / "no-target")
        self.assertEqual(done.returncode, CONFIG)
        self.assertIn("give --target initial or web to learn a field", error_line(done, "cosmo-prep"))
        done = run("cosmo-train", "--data", data, "--network", "cosmonet32", "--output", self.root / "of-none")
        self.assertEqual(done.returncode, CONFIG)
        self.assertIn("give --target initial", error_line(done, "cosmo-train"))
        model, predictions = self.root / "one-model", self.root / "one-predictions"
        succeed("cosmo-train", "--data", data, "--target", "initial", "--network", "reconet", "--epochs", 1, "--output", model)
        succeed("cosmo-infer", "--model", model, "--data", data, "--output", predictions)
        self.assertEqual(json.loads((predictions / "metrics.json").read_text())["fields"]["initial"]["universes"], 1)
        self.assertNotIn("± nan", (predictions / "report.html").read_text())
        succeed("cosmo-prep", "shard", "--input", suite, "--target", "initial", "--test-for", model, "--output", self.root / "tested")
        self.assertEqual(len(cosmo_data.Split(self.root / "tested", "test")), 5)

    def test_another_universes_field_is_found(self):
        suite = self.root / "swapped"
        succeed("cosmo-sim", *SUITE, "--save", "counts,initial", "--output", suite)
        (suite / "sim-00001/initial_z0.h5").write_bytes((suite / "sim-00002/initial_z0.h5").read_bytes())
        record_again(suite, suite / "sim-00001/initial_z0.h5")
        done = run("cosmo-prep", "shard", "--input", suite, "--target", "initial", "--output", self.root / "of-swapped")
        self.assertEqual(done.returncode, FORMAT)
        self.assertIn("is not the initial field of simulation 1", error_line(done, "cosmo-prep"))


class Classes(Pairs):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.suite, cls.data = cls.root / "suite", cls.root / "data"
        cls.generate = [*SUITE, "--redshifts", "0,1", "--save", "counts,web"]
        succeed("cosmo-sim", *cls.generate, "--web", "4:0.1", "--output", cls.suite)
        cls.words = ["shard", "--input", cls.suite, "--target", "web", "--rolls", 1, "--samples-per-shard", 10]
        succeed("cosmo-prep", *cls.words, "--output", cls.data)

    def web(self, simulation, z=0):
        with h5py.File(self.suite / f"sim-{simulation:05}/web_z{z}.h5") as file:
            return file["web"][:]

    def test_classes_are_cut_and_rolled_with_their_counts(self):
        volumes, half = np.zeros(4, int), VOXELS // 2
        for name in ("train", "validation", "test"):
            split = cosmo_data.Split(self.data, name)
            for i in range(len(split)):
                identity = split.identity(i)
                with h5py.File(self.data / identity.shard) as shard:
                    shift = shard["shift"][identity.row].astype(int)
                    self.assertEqual((shard.attrs["schema_version"], shard["t"].dtype), (3, "u1"))
                web = np.roll(self.web(identity.simulation), -shift, (0, 1, 2))
                cut = tuple(slice(half * (identity.subvolume >> bit & 1), half * (identity.subvolume >> bit & 1) + half) for bit in (2, 1, 0))
                np.testing.assert_array_equal(split.target(i), web[cut])
                volumes += np.bincount(web[cut].ravel(), minlength=4) * (name == "train")
        stated = json.loads((self.data / "manifest.json").read_text())["target"]
        self.assertEqual(stated["statistics"]["voxels"], list(volumes))
        self.assertEqual((stated["quantity"], stated["classes"], stated["redshifts"], stated["web_radius_mpc_h"], stated["web_threshold"]),
                         ("web", ["void", "wall", "filament", "node"], [0], 4, 0.1))
        self.assertIn(f"uint8 classes of radius 4 Mpc/h and threshold 0.1: void {100 * volumes[0] / volumes.sum():.2f} %", printed("cosmo-prep", "describe", self.data))
        succeed("cosmo-prep", "verify", self.data)

    def test_classes_are_of_the_first_redshift(self):
        later = self.root / "later"
        succeed("cosmo-prep", "shard", "--input", self.suite, "--target", "web", "--redshifts", "1,0", "--subvolumes", 1, "--output", later)
        split = cosmo_data.Split(later, "test")
        np.testing.assert_array_equal(split.target(0), self.web(split.identity(0).simulation, 1))
        succeed("cosmo-prep", "verify", later)

    def test_pairs_of_arrays(self):
        exported = self.exported_and_back()
        web = np.load(exported / "test/shard-00000_00003_web.npy")
        self.assertEqual(web.dtype, "u1")
        np.testing.assert_array_equal(web, cosmo_data.Split(self.data, "test").target(3))
        rows, table, words = self.as_others("web", exported)
        np.save(exported / "wide.npy", web.astype("f8"))  # any type can hold classes
        np.save(exported / "four.npy", np.where(np.arange(web.size).reshape(web.shape) == 9, 4, web))
        np.save(exported / "half.npy", web / 2)
        for name, code in (("wide", 0), ("four", FORMAT), ("half", FORMAT)):
            table.write_text("\n".join(["file,target_web,simulation,sigma8", *rows[:3], rows[3].replace("test/shard-00000_00003_web", name), *rows[4:]]) + "\n")
            done = run("cosmo-prep", *words, "--output", self.root / name)
            self.assertEqual(done.returncode, code, done.stderr)
            if code:
                self.assertIn("which is not a class from 0 to 3", error_line(done, "cosmo-prep"))

    def test_what_cannot_be_is_refused(self):
        other, plain = self.root / "other", self.root / "plain"
        succeed("cosmo-sim", *self.generate, "--web", "5:0.1", "--seed", 50, "--output", other)
        succeed("cosmo-sim", *SUITE, "--output", plain)
        for parts, words in ((["--web 4:0.1", "--web 5:0.1", "join universes"], ["--input", f"{self.suite},{other}"]),
                             (["merges the voxels"], ["--input", self.suite, "--grid", VOXELS // 2]),
                             (["has no web field", "--save counts,web"], ["--input", plain])):
            done = run("cosmo-prep", "shard", *words, "--target", "web", "--output", self.root / "refused")
            self.assertEqual(done.returncode, CONFIG, done.stderr)
            for part in parts:
                self.assertIn(part, error_line(done, "cosmo-prep"))

    def test_a_class_that_is_none_is_found_wherever_it_is(self):
        suite = self.root / "wrong"
        succeed("cosmo-sim", *self.generate, "--output", suite)
        path = suite / "sim-00001/web_z0.h5"
        with h5py.File(path, "r+") as file:
            file["web"][3, 4, 5] = 7
        record_again(suite, path)
        for words in (["cosmo-prep", "shard", "--input", suite, "--target", "web", "--output", self.root / "of-wrong"], ["cosmo-sim", "inspect", path]):
            done = run(*words)
            self.assertEqual(done.returncode, FORMAT, done.stderr)
            self.assertIn("has a voxel of class 7, beyond 3", error_line(done, words[0]))


if __name__ == "__main__":
    unittest.main()
