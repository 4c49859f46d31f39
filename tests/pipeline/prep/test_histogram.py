"""cosmo-prep histogram: snapshots of cosmo-sim and in other codes' layouts, against numpy.histogramdd."""

import json
import shutil
import signal
import unittest

import h5py
import numpy as np

from gadget import BOX, GRID, N, example_positions, expected_counts, write_gadget4
from toolkit import DirectoryTest, contents, error_line, run, run_with_faults, succeed, times

CONFIG, IO, FORMAT = 3, 4, 5
COSMOLOGY = ["--sigma8", 0.8, "--n-s", 0.96]


class Histogram(DirectoryTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.positions = example_positions()
        cls.snapshot = cls.root / "snapdir_004"
        cls.files = write_gadget4(cls.snapshot, cls.positions, 3)

    def count(self, source, name, *words, ranks=1):
        """Runs the command; returns its summary and the counts file."""
        output = self.root / name
        summary = succeed("cosmo-prep", "histogram", "--input", source, "--output", output, "--grid", GRID, *words,
                          ranks=ranks)
        return summary, output / summary["counts"]

    def compare(self, path, expected):
        with h5py.File(path) as file:
            self.assertEqual(file["counts"].dtype, np.dtype("<u2"))
            np.testing.assert_array_equal(file["counts"][:], expected)
            return dict(file.attrs)

    def refused(self, code, parts, source, *words):
        for ranks in (1, 2):
            done = run("cosmo-prep", "histogram", "--input", source, "--output", self.root / "never", "--grid", GRID,
                       *words, ranks=ranks)
            self.assertEqual(done.returncode, code, done.stderr)
            for part in parts:
                self.assertIn(str(part), error_line(done, "cosmo-prep"))
            self.assertFalse((self.root / "never").exists())

    def damaged(self, change, file=1):
        """A copy of the snapshot, after change(h5py.File) of one of its files; returns the folder and that file."""
        folder = self.root / "damaged"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.snapshot, folder)
        path = folder / self.files[file].name
        with h5py.File(path, "a") as content:
            change(content)
        return folder, path


class Counts(Histogram):
    """What is counted, and what a rerun does."""

    def test_gadget4_in_three_files_of_float64_in_kpc(self):
        summary, path = self.count(self.snapshot, "gadget4", *COSMOLOGY, "--seed", 7)
        self.assertEqual((summary["snapshot_files"], summary["coordinates"], summary["units_per_mpc_h"]),
                         (3, "float64", 1000))
        attributes = self.compare(path, expected_counts(self.positions))
        self.assertEqual((attributes["box"], attributes["voxel"], attributes["redshift"], attributes["seed"]),
                         (200.0, 200.0 / GRID, 0, 7))
        self.assertEqual(attributes["particles"], N)
        self.assertEqual(list(attributes["parameter_values"]), [0.31, 0.8, 0.96, 0.68, 0.045, -1, 0])
        self.assertEqual(summary["parameters_assumed"], ["omega_b"])
        manifest = json.loads((self.root / "gadget4/manifest.json").read_text())
        self.assertEqual((manifest["stage"], [file["path"] for file in manifest["files"]]), ("histogram", ["counts_z0.h5"]))
        self.assertEqual([item["path"] for item in manifest["inputs"]],
                         [f"../snapdir_004/{file.name}" for file in self.files])
        # The next tools take it, and notice when it is not what the manifest records.
        self.assertEqual(succeed("cosmo-sim", "inspect", path)["particles"], N)
        content = bytearray(path.read_bytes())
        content[-9] ^= 1
        path.write_bytes(content)
        done = run("cosmo-sim", "inspect", path)
        self.assertEqual(done.returncode, FORMAT)
        self.assertIn("sha256", error_line(done, "cosmo-sim"))

    def test_attributes_of_every_type_are_passed_over(self):
        positions = example_positions()[:2000]
        enumeration = h5py.enum_dtype({"GAS": 0, "DARK": 1}, basetype="i2")
        oddities = {"flag": np.bool_(True), "text": "of any length", "bytes": np.bytes_("eight by"), "void": np.void(b"abcdefg"),
                    "texts": np.array(["a", "bc"], dtype=h5py.string_dtype()), "ragged": None, "kind": None,
                    "record": np.zeros(2, [("x", "f8"), ("long name", "i4", (2, 3)), ("inner", [("y", "u1")])]),
                    "wide": np.zeros(3, [("x", "S300"), ("y", "<c16")]), "empty": h5py.Empty("f4"), "half": np.float16(1),
                    "big": np.array([1, 2], ">i8"), "reference": None}
        for form in ("earliest", "latest", ("v108", "v110")):
            with self.subTest(form=form):
                folder = self.root / f"odd-{form}"
                path, = write_gadget4(folder, positions, 1)
                path.rename(folder / "old")
                with h5py.File(folder / "old") as old, h5py.File(path, "w", libver=form) as new:
                    for name in old:
                        old.copy(name, new)
                    for group in ("Header", "Parameters"):
                        attributes = new[group].attrs
                        for name in list(attributes):  # in the new file's own form
                            attributes[name] = attributes.pop(name)
                        for name, value in oddities.items():
                            if value is not None:
                                attributes[name] = value
                        attributes.create("kind", 1, dtype=enumeration)
                        attributes.create("ragged", [np.arange(2), np.arange(3)], (2,), h5py.vlen_dtype("i4"))
                        attributes["reference"] = new["Header"].ref
                (folder / "old").unlink()
                _, counted = self.count(path, f"odd-{form}-counts", *COSMOLOGY)
                self.compare(counted, expected_counts(positions))

    def test_any_of_the_files_and_any_ranks(self):
        whole = None
        for ranks, source in ((1, self.snapshot), (2, self.files[0]), (4, self.files[2])):
            summary, path = self.count(source, f"ranks-{ranks}", "--quiet", ranks=ranks)
            self.compare(path, expected_counts(self.positions))
            found = contents(path.parent), summary["id"]
            self.assertEqual(found, whole or found, f"{ranks} ranks")
            whole = found

    def test_float32_in_mpc_of_another_type_in_one_file(self):
        positions = example_positions("f4", 300.0)
        [file] = write_gadget4(self.root / "single", positions, 1, box=300.0, units=False, particle_type=2,
                               redshift=0.4999999999)
        words = ["--length-unit", "Mpc/h", "--particle-type", 2]
        summary, path = self.count(file, "single-counts", *words)
        attributes = self.compare(path, expected_counts(positions, box=300.0))
        self.assertEqual((path.name, attributes["box"], attributes["redshift"]), ("counts_z0.5.h5", 300.0, 0.5))
        self.assertEqual(summary["coordinates"], "float32")
        self.refused(CONFIG, [file, "no particles of type 1"], file, "--length-unit", "Mpc/h")
        self.refused(CONFIG, [file, "6 types"], file, "--length-unit", "Mpc/h", "--particle-type", 6)
        self.refused(CONFIG, [file, "--length-unit"], file, "--particle-type", 2)

    def test_lengths_without_h(self):
        """SWIFT's lengths are in Mpc, and its attributes are arrays."""
        [file] = write_gadget4(self.root / "swift", self.positions / 1000, 1, box=BOX / 1000, units=False, cosmology=False,
                               types=7)
        with h5py.File(file, "a") as content:
            for name in ("BoxSize", "Redshift", "NumFilesPerSnapshot"):
                value = content["Header"].attrs[name]
                content["Header"].attrs[name] = np.array([value] * (3 if name == "BoxSize" else 1))
            content["Header"].attrs["NumPart_Total_HighWord"] = np.zeros(7, "u4")
            content.create_group("Units").attrs["Unit length in cgs (U_L)"] = np.array([3.08567758e24])
            cosmology = content.create_group("Cosmology").attrs
            for name, value in (("Omega_m", 0.3), ("h", 0.7), ("Omega_b", 0.05), ("w_0", -0.9), ("w_a", 0.1)):
                cosmology[name] = np.array([value])
        _, path = self.count(file, "swift-counts", *COSMOLOGY)
        attributes = self.compare(path, expected_counts(self.positions / 1000, box=BOX / 1000))
        self.assertAlmostEqual(attributes["box"], 0.7 * 200, delta=1e-9)
        self.assertEqual(list(attributes["parameter_values"]), [0.3, 0.8, 0.96, 0.7, 0.05, -0.9, 0.1])

    def test_our_own_snapshots_give_the_counts_of_the_simulation(self):
        sim = self.root / "sim"
        succeed("cosmo-sim", "generate", "--particles", 32, "--grid", GRID, "--box", 64, "--steps", 2, "--redshifts", "0,1",
                "--save", "counts,particles", "--w0", -0.9, "--seed", 5, "--output", sim)
        for name in ("z0", "z1"):
            _, path = self.count(sim / f"sim-00000/snapshot_{name}.hdf5", f"own-{name}")
            self.assertEqual(path.name, f"counts_{name}.h5")
            self.assertEqual(path.read_bytes(), (sim / f"sim-00000/counts_{name}.h5").read_bytes())
        snapshot = sim / "sim-00000/snapshot_z0.hdf5"
        content = bytearray(snapshot.read_bytes())
        content[-9] ^= 1
        snapshot.write_bytes(content)
        self.refused(FORMAT, [snapshot, "sha256"], snapshot)

    def test_cosmology_that_is_not_stated_is_named(self):
        [file] = write_gadget4(self.root / "bare", self.positions, 1, cosmology=False)
        done = run("cosmo-prep", "histogram", "--input", file, "--output", self.root / "bare-counts", "--grid", GRID)
        self.assertEqual(done.returncode, 0)
        self.assertIn("warning: the snapshot does not state", done.stderr)
        for name in ("--omega-m 0.3089", "--sigma8", "--n-s", "--h 0.703", "--omega-b"):
            self.assertIn(name, done.stderr)
        self.refused(CONFIG, ["--omega-m is 0.25", "0.31"], self.snapshot, "--omega-m", 0.25)
        self.refused(CONFIG, ["sigma8 is 9"], self.snapshot, "--sigma8", 9)

    def test_a_rerun_and_another_request(self):
        _, path = self.count(self.snapshot, "again", *COSMOLOGY)
        before = times(path.parent)
        self.assertTrue(self.count(self.snapshot, "again", *COSMOLOGY)[0]["up_to_date"])
        self.assertEqual(times(path.parent), before)
        done = run("cosmo-prep", "histogram", "--input", self.snapshot, "--output", path.parent, "--grid", 12, *COSMOLOGY)
        self.assertEqual(done.returncode, CONFIG)
        self.assertIn("grid is 24 there and 12 now", error_line(done, "cosmo-prep"))
        succeed("cosmo-prep", "histogram", "--input", self.snapshot, "--output", path.parent, "--grid", 12, *COSMOLOGY,
                "--force")
        self.compare(path, expected_counts(self.positions, 12))

    def test_a_dry_run_touches_nothing(self):
        summary, _ = self.count(self.snapshot, "dry", "--dry-run")
        self.assertEqual((summary["dry_run"], summary["disk_bytes"], summary["particles"]), (True, 2 * GRID**3, N))
        self.assertGreater(summary["memory_bytes_per_rank"], 1 << 20)
        self.assertFalse((self.root / "dry").exists())

    def test_kills(self):
        """After a kill at any file operation the same command finishes, with the same bytes."""
        words = ["histogram", "--input", self.snapshot, "--grid", GRID, *COSMOLOGY]
        parts, count = self.root / "killed", self.root / "count"
        done = run_with_faults({"KILL_UNDER": parts, "KILL_COUNT": count}, "cosmo-prep", *words, "--output", parts)
        self.assertEqual(done.returncode, 0, done.stderr)
        total, whole = int(count.read_text()), contents(parts)
        self.assertGreater(total, 10)
        for at in range(1, total + 1, 3):
            shutil.rmtree(parts)
            done = run_with_faults({"KILL_UNDER": parts, "KILL_AT": at}, "cosmo-prep", *words, "--output", parts)
            self.assertEqual(done.returncode, -signal.SIGKILL)
            succeed("cosmo-prep", *words, "--output", parts)
            self.assertEqual(contents(parts), whole, f"operation {at}")


class BadSnapshots(Histogram):
    """Snapshots that cannot be counted."""

    def test_missing_and_foreign_files(self):
        folder, path = self.damaged(lambda file: None)
        path.unlink()
        self.refused(IO, [path, "missing", "3 files"], folder)
        write_gadget4(folder, self.positions, 1)
        self.refused(CONFIG, ["several snapshots", "snap_004.*.hdf5, snap_004.hdf5"], folder)
        renamed = self.root / "renamed.hdf5"
        shutil.copy(self.files[0], renamed)
        self.refused(FORMAT, [renamed, "NAME.0.hdf5"], renamed)
        empty = self.root / "empty"
        empty.mkdir()
        self.refused(IO, [empty, "no .hdf5"], empty)
        self.refused(IO, ["nowhere"], self.root / "nowhere")
        text = self.root / "text.hdf5"
        text.write_text("no HDF5")
        self.refused(FORMAT, [text, "not an HDF5 file"], text)
        with h5py.File(text, "w") as file:
            file["data"] = np.zeros(3)
        self.refused(FORMAT, [text, "no Header/NumPart_ThisFile", "it has /data"], text)

    def test_files_that_contradict_themselves_or_each_other(self):
        def attribute(name, value, group="Header"):
            return lambda file: file[group].attrs.__setitem__(name, value)

        def shortened(file):
            positions = file["PartType1/Coordinates"][:-1]
            del file["PartType1/Coordinates"]
            file["PartType1/Coordinates"] = positions

        def fewer(file):
            shortened(file)
            count = file["Header"].attrs["NumPart_ThisFile"]
            count[1] -= 1
            file["Header"].attrs["NumPart_ThisFile"] = count

        def retyped(dtype):
            def change(file):
                positions = file["PartType1/Coordinates"][:].astype(dtype)
                del file["PartType1/Coordinates"]
                file["PartType1/Coordinates"] = positions
            return change

        for change, parts in ((shortened, ["records", "coordinates of shape"]), (fewer, [f"announces {N}", f"holds {N - 1}"]),
                              (attribute("BoxSize", 1000.0), ["another snapshot"]),
                              (attribute("NumFilesPerSnapshot", np.int32(2)), ["another snapshot"]),
                              (attribute("Redshift", 1.0), ["another snapshot"]),
                              (retyped("i4"), ["neither float32 nor float64"])):
            folder, path = self.damaged(change)
            self.refused(FORMAT, [folder] + parts, folder)
        for name, value, part in (("BoxSize", -1.0, "box of -1"), ("BoxSize", np.array([1.0, 2.0, 1.0]), "boxes are cubes"),
                                  ("Redshift", np.nan, "does not state its redshift"), ("NumPart_Total", np.full(6, 5, "u8"), "announces 5"),
                                  ("NumFilesPerSnapshot", np.int32(-1), "-1 in its attribute Header/NumFilesPerSnapshot"),
                                  ("Omega0", np.nan, "omega_m = nan")):
            folder, path = self.damaged(attribute(name, value), file=0)
            self.refused(FORMAT, [path, part], folder)
        folder, path = self.damaged(attribute("UnitLength_in_cm", 0.0, "Parameters"), file=0)
        self.refused(FORMAT, [path, "unit of length"], folder)

    def test_positions_that_are_none_of_the_box(self):
        for value in (-0.02 * BOX, 1.02 * BOX, np.nan, np.inf):
            def change(file):
                file["PartType1/Coordinates"][5, 2] = value
            folder, path = self.damaged(change)
            output = self.root / "outside"
            for ranks in (1, 2):
                done = run("cosmo-prep", "histogram", "--input", folder, "--output", output, "--grid", GRID, ranks=ranks)
                self.assertEqual(done.returncode, FORMAT, done.stderr)
                for part in (path, "row 5", "outside its box"):
                    self.assertIn(str(part), error_line(done, "cosmo-prep"))
                self.assertFalse((output / "manifest.json").exists())
                shutil.rmtree(output)

    def test_truncated_files(self):
        folder, path = self.damaged(lambda file: None)
        whole = path.read_bytes()
        for size in (0, 40, len(whole) // 2, len(whole) - 1):
            path.write_bytes(whole[:size])
            self.refused(FORMAT, [path], folder)

    def test_too_many_in_a_voxel(self):
        positions = np.full((65536, 3), 0.5 * BOX)
        [file] = write_gadget4(self.root / "crowd", positions, 1)
        done = run("cosmo-prep", "histogram", "--input", file, "--output", self.root / "crowd-counts", "--grid", GRID)
        self.assertEqual(done.returncode, 6)
        self.assertIn("65535", error_line(done, "cosmo-prep"))


if __name__ == "__main__":
    unittest.main()
