"""cosmo-prep verify finds and names every damage to a dataset, on 1 and 2 ranks; describe shows it."""

import base64
import json
import os
import shutil
import struct
import unittest
import zlib
from xml.etree import ElementTree

import h5py
import numpy as np

from toolkit import PrepTest, flip, sha256

USAGE, CONFIG, FORMAT = 2, 3, 5
SHARD, OTHER = "train/shard-00001.h5", "train/shard-00002.h5"


def swap(bad):
    """Swaps the names of two shards."""
    (bad / SHARD).rename(bad / "spare")
    (bad / OTHER).rename(bad / SHARD)
    (bad / "spare").rename(bad / OTHER)


def edit(bad, change):
    """Changes the manifest."""
    told = json.loads((bad / "manifest.json").read_text())
    change(told)
    (bad / "manifest.json").write_text(json.dumps(told))


def edit_record(bad, **changes):
    """Changes the record of the shard in the manifest."""
    edit(bad, lambda told: next(record for record in told["files"] if record["path"] == SHARD).update(changes))


def hide(bad):
    """Makes the manifest agree with its files, to hide a change."""
    def agree(told):
        for record in told["files"]:
            path = bad / record["path"]
            record.update(bytes=path.stat().st_size, sha256=sha256(path))

    edit(bad, agree)


def append_sample(bad):
    """Appends a sample that is new in every respect, with all that follows from it."""
    with h5py.File(bad / SHARD, "r+") as shard:
        columns = {name: np.concatenate([shard[name], shard[name][-1:]]) for name in shard}
        columns["subvolume"][-1] = 200
        columns["x"][-1] = 0
        columns["crc32"][-1] = zlib.crc32(columns["x"][-1].tobytes())
        columns["plane_crc32"][-1] = [zlib.crc32(plane.tobytes()) for plane in columns["x"][-1]]
        for name, values in columns.items():
            del shard[name]
            shard.create_dataset(name, data=values, chunks=(1,) + values.shape[1:] if name == "x" else None)


def set_values(bad, name, rows, value):
    with h5py.File(bad / SHARD, "r+") as shard:
        shard[name][rows] = value


def pixels(data):
    """Width, height and number of different bytes of a PNG image's pixels."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        packed += data[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += 12 + size
    return width, height, len(set(zlib.decompress(packed)))


def parts(path, name):
    """All elements of this name in an SVG image."""
    return list(ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}" + name))


class VerifyTest(PrepTest):
    SUITE = [13, 12]
    SHARD = ["--subvolumes", 1, "--samples-per-shard", 3, "--validation", 2, "--test", 2]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with h5py.File(cls.root / "data" / SHARD) as shard:
            cls.x, cls.y = shard["x"][1].tobytes(), shard["y"][1].tobytes()
            cls.planes = shard["plane_crc32"][1].tobytes()
            cls.low = shard.attrs["parameter_low"].tobytes()

    def copy(self):
        """A copy of the dataset to damage: "bad"."""
        shutil.rmtree(self.root / "bad", ignore_errors=True)
        return shutil.copytree(self.root / "data", self.root / "bad")

    def flip(self, bad, wanted, byte=0):
        """Flips a bit of these bytes in the shard."""
        data = (bad / SHARD).read_bytes()
        at = data.index(wanted)
        self.assertEqual(data.rindex(wanted), at)
        flip(bad / SHARD, at + byte)

    def found_alike(self):
        """The lines with which verify refuses the damaged copy, the same from 1 and 2 ranks."""
        lines = self.complaints(FORMAT, "verify", "bad")
        self.assertEqual(self.complaints(FORMAT, "verify", "bad", ranks=2), lines)
        return lines

    def names(self, parts, damage, *how, **changes):
        """Checks that verify finds a damage of a fresh copy, and that its message names it."""
        damage(self.copy(), *how, **changes)
        lines = "\n".join(self.found_alike())
        for part in parts:
            self.assertIn(part, lines)

    def names_hidden(self, parts, damage, *how):
        """The same after the manifest was made to agree."""
        def damage_and_hide(bad):
            damage(bad, *how)
            hide(bad)

        self.names(parts, damage_and_hide)


class Damages(VerifyTest):
    def test_the_dataset_itself_is_whole(self):
        self.prep("verify", "data", ranks=2)

    def test_a_flipped_bit(self):
        for wanted, byte in ((self.x, 40), (self.y, 0), (self.low, 0)):
            self.names([f"bad/{SHARD}", "sha256"], self.flip, wanted, byte)

    def test_a_truncated_shard(self):
        self.names([f"bad/{SHARD}", "9000 bytes"], lambda bad: os.truncate(bad / SHARD, 9000))

    def test_swapped_shards(self):
        self.names([f"bad/{SHARD}", "sha256"], swap)

    def test_an_extra_sample(self):
        self.names([f"bad/{SHARD}", "bytes"], append_sample)


class Files(VerifyTest):
    def test_a_missing_shard(self):
        self.names([f"bad/{SHARD}", "missing"], lambda bad: (bad / SHARD).unlink())

    def test_an_extra_shard(self):
        extra = "train/shard-00099.h5"
        self.names([f"bad/{extra}"], lambda bad: shutil.copy(bad / SHARD, bad / extra))

    def test_all_of_several_are_named(self):
        shards = sorted(f"train/{path.name}" for path in (self.root / "data/train").iterdir())
        self.assertGreater(len(shards), 2)
        for damage, wrong in ((lambda path: os.truncate(path, 9000), "9000 bytes"), (os.remove, "missing")):
            bad = self.copy()
            for path in shards[1:]:
                damage(bad / path)
            *warnings, error = self.found_alike()
            self.assertEqual(len(warnings), len(shards) - 1)
            self.assertIn(f"{len(warnings)} files of bad", error)
            for path, line in zip(shards[1:], warnings):
                self.assertIn(f"bad/{path}", line)
                self.assertIn(wrong, line)


class Manifests(VerifyTest):
    def test_another_hash(self):
        self.names([f"bad/{SHARD}", "sha256"], edit_record, sha256="0" * 64)

    def test_another_size(self):
        self.names([f"bad/{SHARD}", "records 1"], edit_record, bytes=1)

    def test_another_list_of_seeds(self):
        self.names(["the seed"], edit, lambda told: told["splits"]["train"]["seeds"].reverse())

    def test_another_size_of_a_voxel(self):
        self.names(["manifest.json", '"voxel_mpc_h"'], edit,
                   lambda told: told.update(voxel_mpc_h=2 * told["voxel_mpc_h"]))

    def test_a_leak_that_is_none(self):
        self.names(["manifest.json", "leak"], edit,
                   lambda told: told.update(leak={"seeds": 1, "between": "train and test"}))


class HiddenDamages(VerifyTest):
    """Damages that the manifest was made to agree with."""

    def test_a_flipped_bit(self):
        self.names_hidden([f"bad/{SHARD}", "sample 1", "crc32"], self.flip, self.x, 40)
        self.names_hidden([f"bad/{SHARD}", "sample 1", "checksums of planes"], self.flip, self.planes, 3)
        self.names_hidden([f"bad/{SHARD}", "sample 1"], self.flip, self.y, 5)
        self.names_hidden([f"bad/{SHARD}", "parameter_low"], self.flip, self.low, 5)

    def test_swapped_shards_are_the_same_samples(self):
        bad = self.copy()
        swap(bad)
        hide(bad)
        self.prep("verify", "bad")

    def test_an_extra_sample(self):
        self.names_hidden([f"bad/{SHARD}", "samples"], append_sample)

    def test_another_label(self):
        with h5py.File(self.root / "data" / SHARD) as shard:
            label = shard["y"][2, 1]
        self.names_hidden([f"bad/{SHARD}", "sample 2"], set_values, "y", (2, 1), label * 1.001)


class HiddenNumbers(VerifyTest):
    """Seeds and numbers of samples that the dataset's other parts contradict, where the manifest agrees."""

    def test_another_seed(self):
        self.names_hidden(["the seed", "4711"], set_values, "seed", slice(None), 4711)

    def test_a_seed_of_another_split(self):
        with h5py.File(self.root / "data/test/shard-00000.h5") as shard:
            seed = shard["seed"][0]
        self.names_hidden([f"share the seed {seed}"], set_values, "seed", slice(None), seed)

    def test_another_number_of_a_sample(self):
        self.names_hidden(["sub-volume 99"], set_values, "subvolume", 0, 99)

    def test_a_sample_twice(self):
        def repeat(bad):
            with h5py.File(bad / SHARD, "r+") as shard:
                shard["subvolume"][:] = 0
                shard["simulation"][:] = shard["simulation"][0]

        self.names_hidden(["twice"], repeat)


class Descriptions(VerifyTest):
    def test_it_prints_what_the_manifest_records(self):
        summary, manifest = self.summary("describe", "data"), self.manifest("data")
        for key in ("shape", "parameters", "splits", "statistics", "config", "code"):
            self.assertEqual(summary[key], manifest[key])
        self.assertEqual((summary["input"], summary["id"]), (manifest["inputs"][0], manifest["id"]))
        text = self.prep("describe", "data")
        for part in ("12 × 12 × 12", "omega_m", "mean 8", "seed 1", manifest["id"], manifest["inputs"][0]["path"]):
            self.assertIn(part, text)

    def test_pictures(self):
        def ages():
            return {path: path.stat().st_mtime_ns for path in (self.root / "data").rglob("*")}

        before = ages()
        for words, path, samples in ((["a.svg"], "a.svg", 3), (["pictures", "--samples", 6], "pictures/samples.svg", 6),
                                     (["pictures"], "pictures/samples.svg", 3)):
            self.assertEqual(self.summary("describe", "data", "--svg", *words)["svg"], path)
            image = self.root / path
            *slices, bar = [pixels(base64.b64decode(part.get("href").split("base64,")[1])) for part in parts(image, "image")]
            self.assertEqual([size[:2] for size in slices], samples * [(360, 360)])
            self.assertGreater(min(colours for _, _, colours in slices), 20)
            self.assertEqual(bar[:2], (256, 1))
            curves = parts(image, "polyline")
            self.assertEqual(len(curves), samples)
            for curve in curves:
                self.assertGreater(len(curve.get("points").split()), 5)
            texts = [text.text for text in parts(image, "text")]
            for text in ("density / mean, averaged along x", "1 + particles in a voxel", "share of the voxels per particle"):
                self.assertIn(text, texts)
            self.assertEqual(len([text for text in texts if ", z = 0" in text]), samples)
            self.assertEqual(len([text for text in texts if "omega_m" in text]), samples)
        first = (self.root / "a.svg").read_bytes()
        self.prep("describe", "data", "--svg", "a.svg", ranks=2)
        self.assertEqual((self.root / "a.svg").read_bytes(), first)
        self.assertEqual(list(self.root.glob("*.part")), [])
        self.assertEqual(ages(), before)

    def test_pictures_that_cannot_be(self):
        (self.root / "notes.svg").write_text("no image")
        self.refused(CONFIG, ["notes.svg"], "describe", "data", "--svg", "notes.svg")
        self.assertEqual((self.root / "notes.svg").read_text(), "no image")
        self.refused(USAGE, ["notes.png", "FILE.svg"], "describe", "data", "--svg", "notes.png")
        self.refused(CONFIG, ["--samples"], "describe", "data", "--svg", "never.svg", "--samples", 7)
        flip(self.copy() / "train/shard-00000.h5", 9000)
        self.refused(FORMAT, ["sha256"], "describe", "bad", "--svg", "never.svg")
        self.assertFalse((self.root / "never.svg").exists())


if __name__ == "__main__":
    unittest.main()
