"""cosmo-prep histogram on snapshots as other people have them: what is right is read, what cannot be right is refused or
warned of. Counts are numpy's."""

import json
import os
import struct
import subprocess
import unittest

import h5py
import numpy as np

from others_snapshots import BOX, GRID, H, MASS, N, OMEGA_M, binary, counts_of, gadget, moved_lattice
from toolkit import BIN, DirectoryTest, error_line, run, succeed

USAGE, CONFIG, IO, FORMAT = 2, 3, 4, 5


class OthersFiles(DirectoryTest):
    number = 0

    def histogram(self, source, *words, ranks=1, grid=GRID):
        OthersFiles.number += 1
        output = self.root / f"o{OthersFiles.number}"
        done = run("cosmo-prep", "histogram", "--input", source, "--output", output, "--grid", grid, *words, ranks=ranks)
        if done.returncode != 0:
            self.assertFalse((output / "manifest.json").exists())
            return done, None, None
        manifest = json.loads((output / "manifest.json").read_text())
        with h5py.File(output / manifest["counts"]) as file:
            return done, file["counts"][:], manifest

    def counted(self, source, expected, *words, warns=(), ranks=1):
        """The manifest, after checking counts and warnings."""
        done, counts, manifest = self.histogram(source, *words, ranks=ranks)
        self.assertEqual(done.returncode, 0, done.stderr)
        np.testing.assert_array_equal(counts, expected)
        warnings = [line for line in done.stderr.splitlines() if line.startswith("warning:") and "does not state all parameters" not in line]
        self.assertEqual(len(warnings), len(warns), done.stderr)
        for line, parts in zip(warnings, warns):
            for part in parts:
                self.assertIn(str(part), line)
        return manifest

    def refused(self, code, parts, source, *words):
        done, _, _ = self.histogram(source, *words)
        self.assertEqual(done.returncode, code, done.stderr)
        for part in parts:
            self.assertIn(str(part), error_line(done, "cosmo-prep"))


class Headers(OthersFiles):
    def test_a_number_is_a_number(self):
        positions = moved_lattice()
        for i, header in enumerate(({"BoxSize": 64}, {"Redshift": 0}, {"HubbleParam": np.float32(0.7)}, {"OmegaBaryon": 0},
                                    {"NumPart_ThisFile": np.array([0, N, 0, 0, 0, 0], "f8"), "NumPart_Total": np.array([0, N, 0, 0, 0, 0], "f4")},
                                    {"NumFilesPerSnapshot": 1.0}, {"NumPart_Total": np.zeros(6, "u4")}, {"NumPart_Total_HighWord": 0}, {"BoxSize": np.full(3, 64, "i4")}, {"NumPart_ThisFile": np.array([0, N, 0, 0, 0, 0], "i8")})):
            self.counted(gadget(self.root / f"number-{i}.hdf5", {1: {"Coordinates": positions}}, header), counts_of(positions))
        source = gadget(self.root / "text.hdf5", {1: {"Coordinates": positions}}, {"NumPart_ThisFile": "many"})
        self.refused(FORMAT, [source, "NumPart_ThisFile", "another type than number"], source)
        for name, value, expected in (("BoxSize", "64.0", None), ("Redshift", np.nan, "does not state its redshift"), ("BoxSize", "wide", "does not state the size")):
            source = gadget(self.root / f"texts-{name}-{value}.hdf5", {1: {"Coordinates": positions}}, {name: value}, drop=("Time",))
            if expected:
                self.refused(FORMAT, [expected], source)
            else:
                self.counted(source, counts_of(positions))
        source = gadget(self.root / "amplitude.hdf5", {1: {"Coordinates": positions}}, {"A_s": 2.1e-9})
        self.counted(source, counts_of(positions), warns=[["A_s is not understood"]])
        self.counted(gadget(self.root / "both.hdf5", {1: {"Coordinates": positions}}, {"A_s": 2.1e-9, "sigma_8": 0.8}), counts_of(positions))
        source = gadget(self.root / "half.hdf5", {1: {"Coordinates": positions}}, {"NumFilesPerSnapshot": 1.5})
        self.refused(FORMAT, [source, "1.5", "whole number"], source)

    def test_parameters_and_units_by_the_words_of_each_code(self):
        positions = moved_lattice()
        for i, (header, groups, unit, expected) in enumerate((
                ({"Omega_Matter": 0.27, "Omega_Baryon": 0.049, "HubbleParam": 0.68, "UnitLength_In_CGS": 3.085678e21}, {}, 1000,
                 {"omega_m": 0.27, "omega_b": 0.049, "h": 0.68}),
                ({}, {"Cosmology": {"Omega_m": 0.29, "Omega_b": 0.05, "h": 0.68, "w_0": -0.9, "w_a": 0.1, "Omega_lambda": 0.7, "Scale-factor": 1.0},
                      "Units": {"Unit length in cgs (U_L)": 3.08567758e24}}, 1 / 0.68,
                 {"omega_m": 0.29, "omega_b": 0.05, "h": 0.68, "w0": -0.9, "wa": 0.1}),
                ({"OMEGA_M": 0.3, "H0": 71.0, "sigma_8": 0.81, "ns": 0.95, "UnitLength_in_cm": 3.085678e24}, {}, 1,
                 {"omega_m": 0.3, "h": 0.71, "sigma8": 0.81, "n_s": 0.95}))):
            drop = ("Omega0",) + (() if "HubbleParam" in header else ("HubbleParam",))
            source = gadget(self.root / f"words-{i}.hdf5", {1: {"Coordinates": unit * positions}}, header | {"BoxSize": BOX * unit}, {}, drop, groups)
            _, counts, manifest = self.histogram(source)
            np.testing.assert_array_equal(counts, counts_of(np.float32(unit * positions), box=BOX * unit))
            for name, value in expected.items():
                self.assertAlmostEqual(manifest["parameters"][name], value, msg=name)
            self.assertTrue(set(expected).isdisjoint(manifest["parameters_assumed"]))

    def test_lengths_without_h(self):
        positions = moved_lattice()
        for i, (unit, words) in enumerate(((1000 / H, ["--length-unit", "kpc"]), (1 / H, ["--length-unit", "Mpc"]), (1000, []))):
            # The last states a unit that was rounded.
            source = gadget(self.root / f"plain-{i}.hdf5", {1: {"Coordinates": unit * positions}}, {"BoxSize": BOX * unit} if words else
                            {"BoxSize": BOX * unit, "UnitLength_in_cm": 3.086e21}, {})
            _, counts, manifest = self.histogram(source, *words)
            np.testing.assert_array_equal(counts, counts_of(np.float32(unit * positions), box=BOX * unit))
            self.assertAlmostEqual(manifest["box_mpc_h"], BOX)
        # With another h the box is another one.
        plain = {"Cosmology": {"h": 0.7, "Omega_m": 0.3}, "Units": {"Unit length in cgs (U_L)": 3.08567758e24}}
        source = gadget(self.root / "plain.hdf5", {1: {"Coordinates": positions}}, {"BoxSize": BOX}, {}, ("Omega0", "HubbleParam"), plain)
        for h, words in ((0.7, []), (0.6, ["--override", "h=0.6"])):
            self.assertAlmostEqual(self.histogram(source, *words)[2]["box_mpc_h"], BOX * h)

    def test_what_is_stated_twice_must_agree_and_what_is_not_understood_is_listed(self):
        positions = moved_lattice()
        for i, (header, groups, warns) in enumerate((
                ({}, {"Cosmology": {"Omega_m": 0.27}}, [["Header/Omega0 is 0.31", "Cosmology/Omega_m is 0.27"]]),
                ({"Redshift": 1.0, "Time": 1.0}, {}, [["redshift is 1", "scale factor 1"]]),
                ({"OmegaStrange": 0.1, "Sigma9": 0.8}, {}, [["Header/OmegaStrange is not understood"], ["Header/Sigma9 is not understood"]]),
                ({}, {"Parameters": {"BoxSize": 65.0, "UnitLength_in_cm": 3.085678e24}}, [["Header/BoxSize is 64", "65"]]))):
            source = gadget(self.root / f"twice-{i}.hdf5", {1: {"Coordinates": positions}}, header, groups=groups)
            self.counted(source, counts_of(positions), warns=warns)

    def test_values_that_only_fill_a_place_are_none(self):
        positions, place = moved_lattice(), {"UnitLength_in_cm": 3.085678e24, "Sigma8": 0.9, "PrimordialIndex": 1.0}
        for i, (kind, renormalised, names) in enumerate(((2, 0, []), (2, 1, ["sigma8"]), (1, 0, ["sigma8", "n_s"]), (None, None, ["sigma8", "n_s"]))):
            parameters = place | ({"PowerSpectrumType": kind, "ReNormalizeInputSpectrum": renormalised} if kind else {})
            source = gadget(self.root / f"place-{i}.hdf5", {1: {"Coordinates": positions}}, parameters=parameters)
            manifest = self.counted(source, counts_of(positions))
            self.assertEqual([name for name in ("sigma8", "n_s") if name not in manifest["parameters_assumed"]], names)
        self.counted(self.root / "place-0.hdf5", counts_of(positions), "--sigma8", 0.834)

    def test_a_wrong_statement_is_overridden_and_recorded(self):
        positions = moved_lattice()
        source = gadget(self.root / "wrong.hdf5", {1: {"Coordinates": positions}}, {"Omega0": 0.3, "BoxSize": 65.0, "Redshift": 0.5})
        self.refused(CONFIG, ["--omega-m is 0.31", "the snapshot has 0.3", "--override omega_m"], source, "--omega-m", OMEGA_M)
        words = ["--override", "omega_m=0.31, box=64, redshift=0"]
        manifest = self.counted(source, counts_of(positions), *words, warns=[["redshift is 0.5"]])
        self.assertEqual(manifest["overridden"], {"omega_m": 0.3, "box": 65, "redshift": 0.5})
        self.assertEqual((manifest["parameters"]["omega_m"], manifest["box_mpc_h"], manifest["redshift"]), (0.31, 64, 0))
        manifest = self.counted(source, counts_of(positions), "--override", "omega_m,box=64,redshift=0", "--omega-m", 0.32, warns=[["redshift"]])
        self.assertEqual(manifest["parameters"]["omega_m"], 0.32)
        for name, wrong in (("BoxSize", "wide"), ("BoxSize", np.nan), ("Redshift", np.inf), ("Redshift", "today"), ("Omega0", np.nan), ("Omega0", 31.0)):
            source = gadget(self.root / "no-number.hdf5", {1: {"Coordinates": positions}}, {name: wrong}, drop=("Time",))
            words = {"BoxSize": "box=64", "Redshift": "redshift=0", "Omega0": "omega_m=0.31"}[name]
            self.refused(CONFIG if wrong == 31 else FORMAT, [words.split("=")[0], "give --override"], source)
            done, counts, manifest = self.histogram(source, "--override", words)
            self.assertEqual(done.returncode, 0, done.stderr)
            np.testing.assert_array_equal(counts, counts_of(positions))
            self.assertIn(manifest["overridden"][words.split("=")[0]], (None, 31.0))
        source = gadget(self.root / "no-number.hdf5", {1: {"Coordinates": positions}}, drop=("Time", "BoxSize", "Redshift"))
        self.counted(source, counts_of(positions), "--override", "box=64,redshift=0")
        source = self.root / "wrong.hdf5"
        for typed in ("omega", "box", "omega_m=x", "omega_m,omega_m"):
            self.refused(USAGE, ["--override"], source, "--override", typed)

    def test_snapshots_of_several_times_are_told_apart_by_their_headers(self):
        folder = self.root / "times"
        first, second = moved_lattice(), moved_lattice(2)
        gadget(folder / "snapshot_z1.5.hdf5", {1: {"Coordinates": first}}, {"Redshift": 1.5, "Time": 0.4})
        gadget(folder / "snapshot_z1.75.hdf5", {1: {"Coordinates": second}}, {"Redshift": 1.75, "Time": 1 / 2.75})
        self.refused(CONFIG, ["several snapshots", "snapshot_z1.5.hdf5, snapshot_z1.75.hdf5"], folder)
        self.counted(folder / "snapshot_z1.75.hdf5", counts_of(second))

    def test_a_virtual_file_beside_its_parts_is_passed_over(self):
        folder, positions = self.root / "virtual", moved_lattice()
        total = np.array([0, N, 0, 0, 0, 0], "u4")
        layout = h5py.VirtualLayout((N, 3), "f4")
        for i, part in enumerate(np.split(positions, 2)):
            gadget(folder / f"snap.{i}.hdf5", {1: {"Coordinates": part}}, {"NumPart_Total": total, "NumFilesPerSnapshot": 2})
            layout[i * N // 2:(i + 1) * N // 2] = h5py.VirtualSource(f"snap.{i}.hdf5", "PartType1/Coordinates", part.shape)
        whole = gadget(folder / "snap.hdf5", {1: {"Coordinates": positions}})
        with h5py.File(whole, "a") as file:
            del file["PartType1/Coordinates"]
            file.create_virtual_dataset("PartType1/Coordinates", layout)
        self.counted(folder, counts_of(positions))
        self.refused(FORMAT, [whole, "stored in other files", "snap.0.hdf5, snap.1.hdf5"], whole)


class Particles(OthersFiles):
    def test_a_forgotten_last_wrap_is_made_up_for(self):
        positions = moved_lattice()
        outside = positions.copy()
        outside[5, 0], outside[9, 1], outside[9, 2], outside[11, 2] = -0.01, BOX + 0.3, -0.2, BOX
        inside = np.where(outside < 0, outside + np.float32(BOX), np.where(outside > BOX, outside - np.float32(BOX), outside))
        source = gadget(self.root / "outside.hdf5", {1: {"Coordinates": outside}})
        done, counts, _ = self.histogram(source)
        np.testing.assert_array_equal(counts, counts_of(inside))
        self.assertIn("2 particles outside the periodic box", done.stderr)
        far = positions + np.float32([3 * BOX, -BOX, 0])
        source = gadget(self.root / "far.hdf5", {1: {"Coordinates": far}})
        self.refused(FORMAT, [source, "row 0", "outside its box", "--wrap"], source)
        self.counted(source, counts_of(np.mod(far.astype("f8"), BOX)), "--wrap")
        for i, (factor, warns) in enumerate(((1, []), (1 / H, [["another unit than the box", "--wrap hides it"]]), (1000, [["another unit"]]))):
            some = (positions - np.float32(BOX / 2)) * np.float32(factor)
            source = gadget(self.root / f"centred-{i}.hdf5", {1: {"Coordinates": some}})
            self.counted(source, counts_of(some.astype("f8") % BOX), "--wrap", warns=warns, ranks=1 + i % 2)

    def test_positions_in_another_unit_than_the_box(self):
        small = gadget(self.root / "small.hdf5", {1: {"Coordinates": moved_lattice() / np.float32(BOX)}})
        done, _, _ = self.histogram(small)
        self.assertIn("fill only 12 % of the box", done.stderr)
        unwritten = moved_lattice()
        unwritten[::2] = 0
        self.counted(gadget(self.root / "unwritten.hdf5", {1: {"Coordinates": unwritten}}), counts_of(unwritten),
                     warns=[[f"{N // 2} of its {N} particles are at (0, 0, 0)"]])
        large = gadget(self.root / "large.hdf5", {1: {"Coordinates": 1000 * moved_lattice()}})
        self.refused(FORMAT, [large, "outside its box", "another unit"], large)
        few = gadget(self.root / "few.hdf5", {1: {"Coordinates": np.full((100, 3), 32, "f4")}})
        self.counted(few, counts_of(np.full((100, 3), 32.0)))  # too few to know

    def test_unequal_masses_are_weighed_or_refused(self):
        positions = moved_lattice()
        masses = np.where(np.arange(N) % 2, 8.0, 1.0)
        source = gadget(self.root / "masses.hdf5", {1: {"Coordinates": positions, "Masses": masses}})
        self.refused(CONFIG, [source, "1 to 8 units", "--weights mass"], source)
        with_mass = counts_of(positions, masses)
        for ranks in (1, 3):
            manifest = self.counted(source, with_mass, "--weights", "mass", warns=[["all its particles together"]], ranks=ranks)
        self.assertEqual(manifest["particles"], masses.sum())
        self.counted(source, counts_of(positions), "--weights", "equal", warns=[["all its particles together"]])
        odd = masses + np.random.default_rng(1).random(N)  # without a common measure
        source = gadget(self.root / "odd.hdf5", {1: {"Coordinates": positions, "Masses": odd.astype("f4")}})
        _, counts, manifest = self.histogram(source, "--weights", "mass")
        self.assertEqual(counts.sum(), N)
        self.assertLessEqual(np.abs(counts - counts_of(positions, odd) / odd.mean()).max(), 1)
        equal = gadget(self.root / "equal.hdf5", {1: {"Coordinates": positions, "Masses": np.full(N, MASS)}})
        for weights in ([], ["--weights", "mass"]):
            self.counted(equal, counts_of(positions), *weights)
        bad = gadget(self.root / "bad.hdf5", {1: {"Coordinates": positions, "Masses": np.where(np.arange(N) == 7, np.nan, 1.0)}})
        self.refused(FORMAT, [bad, "in row", "of type 1"], bad)

    def test_other_types_are_named_or_added(self):
        dark, gas = moved_lattice(), moved_lattice(2)
        sets = {0: {"Coordinates": gas, "Masses": np.full(N, MASS / 4)}, 1: {"Coordinates": dark}}
        source = gadget(self.root / "types.hdf5", sets, {"MassTable": [0, 3 * MASS / 4, 0, 0, 0, 0]})
        done, counts, _ = self.histogram(source)
        np.testing.assert_array_equal(counts, counts_of(dark))
        self.assertIn(f"not counted: {N} of type 0", done.stderr)
        self.assertNotIn("all its particles", done.stderr)
        self.refused(CONFIG, ["--weights mass"], source, "--particle-type", "0,1")
        both = np.concatenate([dark, gas])
        self.counted(source, counts_of(both), "--particle-type", "0,1", "--weights", "equal")
        self.counted(source, counts_of(both, np.repeat([3.0, 1.0], N)), "--particle-type", "1,0", "--weights", "mass", ranks=2)
        self.refused(CONFIG, ["no particles of type 4", f"{N} of type 0 and {N} of type 1"], source, "--particle-type", 4)
        self.refused(CONFIG, ["twice"], source, "--particle-type", "1,1")

    def test_all_matter_must_be_there(self):
        positions = moved_lattice()
        for i, (factor, header, cause) in enumerate((
                (1, {}, None), (1.005, {}, None), (0.84, {"OmegaBaryon": 0.0496}, "baryons"), (1e-9, {}, "another unit"), (H, {}, "h^1"),
                (0.5, {}, "missing"), (1.3, {}, "omega_m is 0.403"), (1 / H**3, {}, "h^-3"))):
            source = gadget(self.root / f"mass-{i}.hdf5", {1: {"Coordinates": positions}}, header | {"MassTable": [0, factor * MASS, 0, 0, 0, 0]})
            self.counted(source, counts_of(positions), warns=[["all its particles together", cause]] if cause else [])


class Binary(OthersFiles):
    def test_both_formats_in_both_byte_orders(self):
        positions = moved_lattice()
        for i, (order, named, dtype) in enumerate(((o, n, d) for o in "<>" for n in (False, True) for d in ("f4", "f8"))):
            source = binary(self.root / f"one.{i}", {1: positions}, (0, MASS, 0, 0, 0, 0), order, named, dtype)
            manifest = self.counted(source, counts_of(positions), "--length-unit", "Mpc/h", ranks=1 + i % 2)
            self.assertEqual(manifest["parameters"]["omega_m"], OMEGA_M)
            self.assertEqual(manifest["parameters"]["h"], H)
        self.refused(CONFIG, [source, "--length-unit"], source)
        cut = binary(self.root / "cut.0", {1: positions}, until="positions")
        self.counted(cut, counts_of(positions), "--length-unit", "Mpc/h")
        done, _, _ = self.histogram(cut, "--length-unit", "Mpc/h")
        self.assertIn("masses of all particles are not stated", done.stderr)
        curved = bytearray(cut.read_bytes())
        struct.pack_into("<d", curved, 4 + 144, 0.9)
        (self.root / "curved.0").write_bytes(curved)
        self.counted(self.root / "curved.0", counts_of(positions), "--length-unit", "Mpc/h", warns=[["flat universe is recorded"]])

    def test_several_files_types_and_masses(self):
        dark, gas = moved_lattice(), moved_lattice(2)
        folder, half = self.root / "parts", N // 2
        for i in range(2):
            part = slice(i * half, (i + 1) * half)
            binary(folder / f"snap_004.{i}", {0: gas[part], 1: dark[part]}, (0, 3 * MASS / 4, 0, 0, 0, 0), files=2,
                   totals=[N, N, 0, 0, 0, 0], own_masses=np.full(half, MASS / 4))
        unit = ["--length-unit", "Mpc/h"]
        self.counted(folder, counts_of(dark), *unit)
        self.counted(folder / "snap_004.1", counts_of(gas), *unit, "--particle-type", 0)
        self.counted(folder, counts_of(np.concatenate([dark, gas]), np.repeat([3.0, 1.0], N)), *unit, "--particle-type", "0,1", "--weights", "mass")
        (folder / "snap_004.1").unlink()
        self.refused(IO, ["snap_004.1", "missing"], folder / "snap_004.0", *unit)

    def test_damage_is_refused(self):
        whole = binary(self.root / "whole.0", {1: moved_lattice()}).read_bytes()
        cut = self.root / "cut.0"
        for size in (3, 100, 264, 300, len(whole) // 8, len(whole) - 100, len(whole) - 3):
            cut.write_bytes(whole[:size])
            self.refused(FORMAT, [cut], cut, "--length-unit", "Mpc/h")
        cut.write_bytes(whole[:4] + struct.pack("<i", 7) + whole[8:])  # another number of particles
        self.refused(FORMAT, [cut, "positions"], cut, "--length-unit", "Mpc/h")


class Siblings(OthersFiles):
    """What a hostile reader of these tests tried next."""

    def test_blocks_of_format_2_count_by_name(self):
        positions, masses = moved_lattice(), np.where(np.arange(N) % 2, 8.0, 1.0)
        unit = ["--length-unit", "Mpc/h"]
        speeds = np.full((N, 3), 5, "f4")
        blocks = {"POS": positions, "VEL": speeds, "ID": np.arange(N, dtype="u4"), "MASS": masses.astype("f4"), "HSML": np.ones(N, "f4"),
                  "INFO": np.zeros(40, "u1")}
        for i, (names, weights) in enumerate(((("VEL", "POS", "ID"), None), (("POS", "ID", "MASS"), masses), (("INFO", "POS", "VEL", "ID", "HSML", "MASS"), masses),
                                              (("POS", "VEL", "ID", "HSML"), None))):
            source = self.root / f"named.{i}"
            whole = binary(source, {1: positions}, named=True, until="positions").read_bytes()
            with open(source, "wb") as file:
                file.write(whole[:16 + 8 + 256])
                for name in names:
                    block = blocks[name].tobytes()
                    file.write(struct.pack("<i4sii", 8, name.ljust(4).encode(), len(block) + 8, 8) + struct.pack("<i", len(block)) + block
                               + struct.pack("<i", len(block)))
            if weights is None:
                self.counted(source, counts_of(positions), *unit)
            else:
                self.refused(CONFIG, ["1 to 8 units"], source, *unit)
                self.counted(source, counts_of(positions, weights), *unit, "--weights", "mass", warns=[["all its particles"]])

    def test_gadget_4_has_a_header_of_its_own(self):
        positions = moved_lattice()
        header = struct.pack("<6q6d2d6qdq", 0, N, 0, 0, 0, 0, 0, MASS, 0, 0, 0, 0, 0.5, 1.0, 0, N, 0, 0, 0, 0, BOX, 1).ljust(256, b"\0")
        source = self.root / "gadget4.0"
        with open(source, "wb") as file:
            for block in (header, positions.tobytes()):
                file.write(struct.pack("<i", len(block)) + block + struct.pack("<i", len(block)))
        manifest = self.counted(source, counts_of(positions), "--length-unit", "Mpc/h", "--omega-m", OMEGA_M)
        self.assertEqual((manifest["redshift"], manifest["box_mpc_h"]), (1, BOX))

    def test_what_is_not_counted_does_not_stop_the_count(self):
        dark, few = moved_lattice(), moved_lattice(2)[:5]
        for i, (kind, arrays) in enumerate(((5, {"Masses": np.array([0, 1, 1, 1, 1.0])}), (5, {"Masses": np.full(5, np.nan)}), (0, {"Masses": np.ones((5, 1))}))):
            source = gadget(self.root / f"others-{i}.hdf5", {1: {"Coordinates": dark}, kind: {"Coordinates": few, **arrays}}, {"MassTable": [0, MASS, 0, 0, 0, 0]})
            self.counted(source, counts_of(dark))
        tracers = gadget(self.root / "tracers.hdf5", {1: {"Coordinates": dark}}, {"MassTable": [0, MASS, 0, MASS, 0, 0]})
        with h5py.File(tracers, "a") as file:
            number = file["Header"].attrs["NumPart_ThisFile"]
            number[3] = N
            file["Header"].attrs["NumPart_ThisFile"] = file["Header"].attrs["NumPart_Total"] = number
            file["PartType3/TracerID"] = np.arange(N)
        self.counted(tracers, counts_of(dark))

    def test_headers_of_healthy_codes_are_silent(self):
        positions = moved_lattice()
        for i, (header, groups) in enumerate((({}, {"Parameters": {"Hubble": 100.0, "HubbleParam": H, "UnitLength_in_cm": 3.085678e24}}),
                                              ({}, {"Cosmology": {"w": -0.85, "w_0": -0.9, "w_a": 0.1, "Omega_ur": 0.0, "Hubble time [internal units]": 1.0}}),
                                              ({"UnitDensity_in_cgs": 1.0, "UnitPressure_in_cgs": 1.0}, {}),
                                              ({"OmegaLambda": 1 - OMEGA_M - 1e-4, "Omega_r": 1e-4}, {}))):
            manifest = self.counted(gadget(self.root / f"healthy-{i}.hdf5", {1: {"Coordinates": positions}}, header, groups=groups), counts_of(positions))
        self.assertEqual(manifest["parameters"]["h"], H)
        for i, (header, parts) in enumerate((({"OmegaLambda": 0.5}, ["flat universe is recorded"]), ({"OmegaNu": 0.009}, ["neutrinos"]))):
            self.counted(gadget(self.root / f"odd-{i}.hdf5", {1: {"Coordinates": positions}}, header), counts_of(positions), warns=[parts])
        twice = gadget(self.root / "twice.hdf5", {1: {"Coordinates": positions, "Masses": np.full(N, 9.0)}}, {"MassTable": [0, MASS, 0, 0, 0, 0]})
        self.counted(twice, counts_of(positions), warns=[["MassTable, which is used"]])
        later = gadget(self.root / "later.hdf5", {1: {"Coordinates": positions, "Masses": np.where(np.arange(N) < N - 5, MASS, 9.0)}},
                       {"MassTable": [0, MASS, 0, 0, 0, 0]})
        self.counted(later, counts_of(positions), warns=[["MassTable, which is used"]])
        broken = gadget(self.root / "broken.hdf5", {1: {"Coordinates": positions, "Masses": np.where(np.arange(N) == 7, np.nan, MASS)}})
        self.refused(FORMAT, ["a mass of nan in row 7"], broken)

    def test_numbers_of_files_may_have_leading_zeros(self):
        positions = moved_lattice()
        for i, part in enumerate((positions[:N // 2], positions[N // 2:])):
            gadget(self.root / f"padded/snap.{i:03}.hdf5", {1: {"Coordinates": part}},
                   {"NumPart_Total": np.array([0, N, 0, 0, 0, 0], "u4"), "NumFilesPerSnapshot": 2, "MassTable": [0, MASS, 0, 0, 0, 0]})
        for source in ("padded", "padded/snap.001.hdf5"):
            self.counted(self.root / source, counts_of(positions))
        os.remove(self.root / "padded/snap.001.hdf5")
        self.refused(IO, ["snap.001.hdf5 is missing"], self.root / "padded")

    def test_the_density_is_checked_without_stated_units(self):
        positions = moved_lattice()
        half = gadget(self.root / "no-units.hdf5", {1: {"Coordinates": positions}}, {"MassTable": [0, MASS / 2, 0, 0, 0, 0]}, {})
        self.counted(half, counts_of(positions), "--length-unit", "Mpc/h", warns=[["0.5 times the matter"]])
        whole = gadget(self.root / "no-units-whole.hdf5", {1: {"Coordinates": positions}}, {"MassTable": [0, MASS, 0, 0, 0, 0]}, {})
        self.counted(whole, counts_of(positions), "--length-unit", "Mpc/h")
        self.counted(whole, counts_of(positions), "--length-unit", "kpc/h", warns=[["1e9"]])

    def test_masses_by_the_names_of_other_codes(self):
        positions, masses = moved_lattice(), np.where(np.arange(N) % 2, 8.0, 1.0)
        for name in ("Mass", "Particle_Mass"):
            source = gadget(self.root / f"{name}.hdf5", {1: {"Coordinates": positions, name: masses}})
            self.refused(CONFIG, ["1 to 8 units"], source)

    def test_files_of_one_snapshot_in_different_units(self):
        positions = moved_lattice()
        for i, part in enumerate((positions[:N // 2], positions[N // 2:])):
            gadget(self.root / f"units/snap.{i}.hdf5", {1: {"Coordinates": part}},
                   {"NumPart_Total": np.array([0, N, 0, 0, 0, 0], "u4"), "NumFilesPerSnapshot": 2, "MassTable": [0, MASS, 0, 0, 0, 0]},
                   {"UnitLength_in_cm": 3.085678e24 / 1000**i})
            with h5py.File(self.root / f"units/fof_tab.{i}.hdf5", "w") as file:  # groups of halo finders are passed over
                file.create_group("Header").attrs["Ngroups_ThisFile"] = 7
        self.counted(self.root / "units", counts_of(positions), warns=[["another unit of length"]])

    def test_masses_may_be_whole_numbers(self):
        positions = moved_lattice()
        source = gadget(self.root / "whole-masses.hdf5", {1: {"Coordinates": positions, "Masses": np.full(N, 2, "i8")}})
        self.counted(source, counts_of(positions), warns=[["all its particles"]])

    def test_other_formats_are_named(self):
        (self.root / "bigfile/Header").mkdir(parents=True)
        (self.root / "bigfile/Header/attr-v2").write_text("BoxSize <f8 1 0000 #HUMANE [ 64 ]\n")
        (self.root / "zarr").mkdir()
        (self.root / "zarr/.zgroup").write_text("{}")
        (self.root / "table.parquet").write_bytes(b"PAR1" + bytes(100) + b"PAR1")
        (self.root / "file.asdf").write_bytes(b"#ASDF 1.0.0\n")
        for name, code, part in (("bigfile", IO, "Bigfile"), ("zarr", IO, "Zarr"), ("table.parquet", FORMAT, "Parquet"), ("file.asdf", FORMAT, "ASDF")):
            self.refused(code, [part], self.root / name)

    def test_a_table_with_decimal_commas_in_a_text(self):
        folder = self.root / "commas"
        for i in range(2):
            gadget(folder / f"{i}.hdf5", {1: {"Coordinates": moved_lattice(i)}}, drop=("Omega0",))
        (folder / "suite.csv").write_text('"snapshot","note","s8","seed"\n"0.hdf5","first, and small",0.8,5\n1.hdf5,"a; b",0.9,6\n')
        suite = succeed("cosmo-prep", "histogram", "--grid", GRID, "--input", folder / "suite.csv", "--output", self.root / "of-quotes")
        self.assertEqual((suite["parameters"]["low"], suite["parameters"]["high"]), ([0.8], [0.9]))
        (folder / "suite.txt").write_text("snapshot;Om;s8;seed\n0.hdf5;0,30;0,8;5\n1.hdf5;0,31;0,9;6\n")
        suite = succeed("cosmo-prep", "histogram", "--grid", GRID, "--input", folder / "suite.txt", "--output", self.root / "of-commas")
        self.assertEqual((suite["parameters"]["low"], suite["parameters"]["high"]), ([0.3, 0.8], [0.31, 0.9]))

    def test_a_table_is_compared_with_its_snapshots(self):
        folder = self.root / "compared"
        for i in range(2):
            gadget(folder / f"{i}.hdf5", {1: {"Coordinates": moved_lattice(i)}}, {"Sigma8": 0.8}, drop=("Omega0",) if i else ())
        table = folder / "suite.csv"
        for rows, part in (("z,sigma8\n0.hdf5,2,0.8\n1.hdf5,0,0.8\n", "redshift 2 and the snapshot has 0"), ("BoxSize,sigma8\n0.hdf5,64,0.8\n1.hdf5,63,0.8\n", "box of 63")):
            table.write_text("snapshot," + rows)
            self.refused(CONFIG, [part, "correct the table"], table)
        table.write_text("snapshot,box,redshift,seed\r0.hdf5,64,0,4\r1.hdf5,64,0,5\r")  # lines of an old Mac
        succeed("cosmo-prep", "histogram", "--grid", GRID, "--input", table, "--output", self.root / "of-compared")
        self.refused(USAGE, ["--override sigma8=X"], table, "--override", "sigma8")

    def test_parameters_in_another_form_are_refused_with_the_relation(self):
        source = gadget(self.root / "forms/0.hdf5", {1: {"Coordinates": moved_lattice()}}, drop=("Omega0", "HubbleParam"))
        for column, part in (("S_8", "root of omega_m"), ("Omega_cdm", "cold matter plus omega_b"), ("ombh2", "write omega_b, which is this density over h²"), ("H0", "write h, which is H0 over 100"),
                             ("ln10As", "write sigma8"), ("Omega_c", "cold matter plus omega_b")):
            table = source.with_name("suite.csv")
            table.write_text(f"snapshot,{column}\n0.hdf5,1\n")
            self.refused(FORMAT, [part], table)
        table.write_text("snapshot,H0,h,omega_m\n0.hdf5,70,0.7,0.31\n")  # stated twice
        succeed("cosmo-prep", "histogram", "--grid", GRID, "--input", table, "--output", self.root / "twice")
        table.write_text("snapshot,Om0,σ8,h100\n0.hdf5,0.31,0.8,0.7\n")
        summary = succeed("cosmo-prep", "histogram", "--grid", GRID, "--input", table, "--output", self.root / "astropy")
        self.assertEqual(summary["parameters_assumed"], ["n_s", "omega_b"])

    def test_a_table_whose_names_are_in_a_comment(self):
        folder = self.root / "table"
        for i in range(2):
            gadget(folder / f"{i}.hdf5", {1: {"Coordinates": moved_lattice(i)}}, {"Omega0": 0.3 + 0.01 * i})
        (folder / "suite.csv").write_text("# made by me\n#snapshot Omega_m sigma_8 seed A_SN1\n0.hdf5 0.30 0.8 5 1\n1.hdf5 0.31 0.9 6 2\n")
        done = run("cosmo-prep", "histogram", "--grid", GRID, "--input", folder / "suite.csv", "--output", self.root / "suite")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("not used: A_SN1", done.stderr)
        universes = json.loads((self.root / "suite/manifest.json").read_text())["simulations"]
        self.assertEqual([(universe["seed"], universe["parameters"]["sigma8"]) for universe in universes], [(5, 0.8), (6, 0.9)])

    def test_files_of_a_set_must_differ_and_agree(self):
        folder, positions = self.root / "set", moved_lattice()
        total = np.array([0, N, 0, 0, 0, 0], "u4")
        for i, part in enumerate(np.split(positions, 2)):
            gadget(folder / f"s.{i}.hdf5", {1: {"Coordinates": part}}, {"NumPart_Total": total, "NumFilesPerSnapshot": 2, "Omega0": 0.31 - 0.1 * i})
        self.counted(folder, counts_of(positions), warns=[["s.1.hdf5 states other parameters"]])
        (folder / "s.1.hdf5").write_bytes((folder / "s.0.hdf5").read_bytes())
        self.refused(CONFIG, ["s.0.hdf5", "s.1.hdf5", "same content"], folder)

    def test_other_files_beside_a_snapshot_are_passed_over(self):
        sim = self.root / "own"
        succeed("cosmo-sim", "generate", "--particles", 16, "--grid", 8, "--box", BOX, "--steps", 2, "--redshifts", "0.5,0", "--save", "counts,particles",
                "--output", sim)
        folder = sim / "sim-00000"
        (folder / "snapshot_z0.5.hdf5").unlink()
        (folder / "._snapshot_z0.hdf5").write_bytes(b"\0\5\26\7")
        with h5py.File(folder / "counts_z0.h5") as file:
            self.counted(folder, file["counts"][:])


class Hdf5(OthersFiles):
    def test_files_of_other_kinds_are_named(self):
        for name, content, part in (("a.hdf5", b"\x1f\x8b\x08" + bytes(50), "gzip"), ("b.hdf5", b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
                                    ("c.hdf5", b"<!DOCTYPE html><html>", "web page"), ("d.hdf5", b"", "empty"), ("e.hdf5", bytes(5000), "zeros only"),
                                    ("f.hdf5", b"1.0 2.0 3.0\n", "a text"), ("g.hdf5", b"\x93NUMPY\x01\x00", "numpy"), ("h.hdf5", b"\x07\x81\x99", "check its name")):
            (self.root / name).write_bytes(content)
            self.refused(FORMAT, [name, part], self.root / name)

    def test_what_stands_in_the_way_of_reading_is_named(self):
        positions = moved_lattice()
        other = self.root / "other.hdf5"
        with h5py.File(other, "w") as file:
            file["Matter/Position"] = positions
            file.create_group("Header").attrs["BoxSize"] = BOX
        self.refused(FORMAT, [other, "no Header/NumPart_ThisFile", "/Header, /Matter"], other)
        lacks = gadget(self.root / "lacks.hdf5", {1: {"Coordinates": positions}})
        with h5py.File(lacks, "a") as file:
            file.move("PartType1/Coordinates", "PartType1/Position")
        self.refused(FORMAT, [lacks, "no dataset /PartType1/Coordinates", "/PartType1 has /Position"], lacks)
        whole = gadget(self.root / "whole.hdf5", {1: {"Coordinates": positions}}).read_bytes()
        truncated = self.root / "truncated.hdf5"
        truncated.write_bytes(whole[:len(whole) - 1000])
        self.refused(FORMAT, [truncated, f"truncated, with {len(whole) - 1000} of its {len(whole)} bytes"], truncated)
        left_open = self.root / "open.hdf5"
        with h5py.File(left_open, "w", libver="latest") as file:
            file["x"] = np.zeros(3)
            file.swmr_mode = True
            copy = left_open.read_bytes()
        left_open.write_bytes(copy)
        self.refused(FORMAT, [left_open, "open in another program", "h5clear"], left_open)

    def test_a_filter_that_hdf5_lacks_is_named(self):
        lzf = gadget(self.root / "lzf.hdf5", {1: {"Coordinates": moved_lattice()}}, compression="lzf")  # h5py's own
        self.refused(FORMAT, [lzf, "LZF", "32000", "h5repack"], lzf)

    def test_file_systems_without_locks(self):
        source = gadget(self.root / "nolock.hdf5", {1: {"Coordinates": moved_lattice()}})
        code = self.root / "nolock.c"
        code.write_text('#define _GNU_SOURCE\n#include <errno.h>\n#include <stdlib.h>\nint flock(int f, int o) { errno = atoi(getenv("NOFLOCK")); return -1; }\n')
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self.root / "nolock.so", code], check=True)
        for error in (37, 95, 524):
            output = self.root / f"nolock-{error}"
            environment = os.environ | {"LD_PRELOAD": str(self.root / "nolock.so"), "NOFLOCK": str(error)}
            done = subprocess.run([BIN / "cosmo-prep", "histogram", "--input", source, "--output", output, "--grid", "8"],
                                  env=environment, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(succeed("cosmo-sim", "inspect", output / "counts_z0.h5"))


if __name__ == "__main__":
    unittest.main()
