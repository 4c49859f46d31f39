"""cosmo_data.Inputs gives a network what cosmo-train gives it: the same transforms, and the same symmetry of each sample in each epoch.

cosmo-train trains a single dense layer so slowly that its weights stay what they were. Its loss in each epoch is then that of these
weights on the samples as they were turned, which the Inputs has to give.
"""

import csv
import json
import unittest

import h5py
import numpy as np

from cosmo_data import SYMMETRIES, DataError, Inputs, Split, Transform, choose_symmetry, cube_symmetry, read_manifest, turn, turn_vectors
from cosmo_data.philox import philox
from synthetic import write_cubes, write_fields
from toolkit import ROOT, PrepTest, cosmo_train, succeed

EPOCHS, SEED = 6, 7
OLD = ROOT / "tests/data/c06b980"
DENSE = {"name": "plane", "input": "grid",
         "layers": [{"name": "labels", "inputs": ["grid"], "kind": "dense", "outputs": 0, "slope": 1}]}


class Symmetries(unittest.TestCase):
    def test_they_are_distinct_and_form_a_group(self):
        cube = np.arange(27).reshape(3, 3, 3)
        images = {turn(cube, s).tobytes(): s for s in range(SYMMETRIES)}
        self.assertEqual((len(images), images[cube.tobytes()]), (SYMMETRIES, 0))
        for s in range(SYMMETRIES):
            self.assertEqual({images[turn(turn(cube, s), t).tobytes()] for t in range(SYMMETRIES)}, set(range(SYMMETRIES)))

    def test_output_axes_run_along_input_axes(self):
        cube = np.arange(27).reshape(3, 3, 3)
        for s in range(SYMMETRIES):
            axes, flipped = cube_symmetry(s)
            for out in np.ndindex(cube.shape):
                place = [0, 0, 0]
                for axis in range(3):
                    place[axes[axis]] = 2 - out[axis] if flipped[axis] else out[axis]
                self.assertEqual(turn(cube, s)[out], cube[tuple(place)])

    def test_channels_are_turned_alike(self):
        cubes = np.arange(54).reshape(2, 3, 3, 3)
        for s in range(SYMMETRIES):
            np.testing.assert_array_equal(turn(cubes, s), [turn(cube, s) for cube in cubes])

    def test_a_radial_field_is_the_same_from_all_sides(self):
        radii = np.array(np.meshgrid(*[np.arange(4) - 1.5] * 3, indexing="ij"))
        for s in range(SYMMETRIES):
            np.testing.assert_array_equal(turn_vectors(radii[None], s)[0], radii)

    def test_unknown_ones_are_refused(self):
        for index in (-1, SYMMETRIES):
            with self.assertRaises(ValueError):
                cube_symmetry(index)
        with self.assertRaises(TypeError):
            cube_symmetry(1.5)

    def test_seeds_and_epochs_out_of_range_are_refused(self):
        for name, limit, numbers in (("seed", 64, (-1, 1 << 70)), ("epoch", 32, (-1, 1 << 32)), ("sample", 32, (-1,))):
            for number in numbers:
                with self.assertRaisesRegex(ValueError, rf"^there is no {name} {number}: give 0 to 2\*\*{limit} - 1$"):
                    choose_symmetry(**{"seed": 1, "epoch": 0, "sample": 0, name: number})

    def test_integers_of_numpy(self):
        self.assertEqual([choose_symmetry(*map(np.int64, (9, epoch, 2))) for epoch in range(20)],
                         [choose_symmetry(9, epoch, 2) for epoch in range(20)])

    def test_all_are_drawn(self):
        drawn = np.bincount([choose_symmetry(1, epoch, sample) for epoch in range(48) for sample in range(100)])
        self.assertEqual(len(drawn), SYMMETRIES)
        self.assertTrue(50 < drawn.min() <= drawn.max() < 150, drawn)

    def test_known_answers(self):
        """Of Random123's kat_vectors."""
        self.assertEqual(philox((0, 0, 0, 0), (0, 0)), (0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8))
        self.assertEqual(philox((0xffffffff,) * 4, (0xffffffff,) * 2), (0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd))


class AgainstTheTrainer(PrepTest):
    def losses(self, data, voxels, augment):
        """(model, its loss in each epoch) of a training that changes nothing."""
        model = self.root / f"{data.name}-{voxels}-{augment}"
        (self.root / "dense.json").write_text(json.dumps(DENSE))
        cosmo_train("--data", data, "--output", model, "--network", self.root / "dense.json", "--epochs", EPOCHS,
                    "--learning-rate", 1e-30, "--optimizer", "adamw:0", "--warmup-epochs", 0, "--global-batch", 6, "--augment", augment,
                    "--average", "off", "--voxels", voxels, "--seed", SEED)
        with open(model / "history.csv", newline="") as file:
            return model, [float(row["train_loss"]) for row in csv.DictReader(file)]

    def check(self, data, voxels, augment="turns"):
        model, losses = self.losses(data, voxels, augment)
        with h5py.File(next((model / "checkpoints").glob("*.h5"))) as checkpoint:
            layer = checkpoint["weights/labels"]
            weights, biases = layer["weights"][:].reshape(len(layer["biases"]), -1).astype(float), layer["biases"][:]
        split = Split(data)
        inputs = Inputs(split, voxels, turned=augment == "turns", seed=SEED)
        recorded = Transform.of_model(read_manifest(model, "train"))
        self.assertEqual(recorded.name, voxels)
        np.testing.assert_allclose(recorded[1:], inputs.transform[1:], rtol=1e-12)
        found = []
        for inputs.epoch in range(EPOCHS):
            (grids, labels), = inputs.batches(len(split))
            outputs = grids.reshape(len(grids), -1) @ weights.T + biases
            found.append(np.mean((outputs - labels) ** 2))
        np.testing.assert_allclose(found, losses, rtol=1e-5)
        if augment == "turns":
            self.assertGreater(np.ptp(losses), 1e-3)  # so that another symmetry would be seen

    def test_counts(self):
        data = self.root / "data"
        drawn = {choose_symmetry(SEED, epoch, sample) for epoch in range(EPOCHS) for sample in range(len(Split(data)))}
        self.assertEqual(len(drawn), SYMMETRIES)  # each is among those compared
        self.check(data, "log1p")
        self.check(data, "log1p", "off")
        self.check(data, "mean")

    def test_channels_and_rolls(self):
        self.check(OLD / "channels", "log1p")

    def test_fields(self):
        write_fields(self.root / "fields", 28, 6)
        self.check(self.root / "fields", "standard")

    def test_fields_of_several_channels(self):
        cubes, data = self.root / "cubes", self.root / "several"
        write_cubes(cubes, 28, 6, (1, 1e6))
        succeed("cosmo-prep", "import", "--input", cubes, "--samples", cubes / "samples.csv", "--format", "npy", "--voxels", "field",
                "--box", 6, "--redshifts", "0,0", "--output", data)
        for voxels in ("standard", "log1p", "log"):
            self.check(data, voxels)
        with self.assertRaisesRegex(DataError, "'log1p' needs the ranges of the channels"):
            Inputs(Split(OLD / "fields"), "log1p")

    def test_transforms_for_other_voxels_are_refused(self):
        with self.assertRaisesRegex(DataError, "holds counts, which 'standard' is not for: give 'log1p' or 'mean'"):
            Inputs(Split(self.root / "data"), "standard")


class Batches(PrepTest):
    def test_all_samples_in_order(self):
        inputs = Inputs(Split(self.root / "data"), turned=True)
        inputs.epoch = 3
        for workers in (1, 2, 5):
            batches = list(inputs.batches(7, workers))
            self.assertEqual([len(voxels) for voxels, _ in batches], [7] * 6 + [6])
            voxels, labels = (np.concatenate(parts) for parts in zip(*batches))
            for i in range(len(inputs)):
                for found, expected in zip((voxels[i], labels[i]), inputs[i]):
                    np.testing.assert_array_equal(found, expected)
                    self.assertEqual(found.dtype, np.float32)

    def test_shuffled(self):
        inputs = Inputs(Split(self.root / "data"), seed=5)
        orders = []
        for inputs.epoch in (0, 1, 0):
            orders.append([voxels.tobytes() for batch, _ in inputs.batches(10, shuffle=True) for voxels in batch])
        self.assertEqual(orders[0], orders[2])
        self.assertNotEqual(orders[0], orders[1])
        plain = [inputs[i][0].tobytes() for i in range(len(inputs))]
        for order in orders:
            self.assertEqual(sorted(order), sorted(plain))

    def test_what_is_out_of_range_is_refused(self):
        split = Split(self.root / "data")
        with self.assertRaisesRegex(ValueError, "there is no seed -1: "):
            Inputs(split, seed=-1)
        inputs = Inputs(split)
        for size in (0, -1):
            with self.assertRaisesRegex(ValueError, f"there is no batch of {size} samples: give 1 or more"):
                list(inputs.batches(size))
        with self.assertRaisesRegex(ValueError, "there are no 0 workers"):
            list(inputs.batches(4, workers=0))
        inputs.epoch = -1
        with self.assertRaisesRegex(ValueError, "there is no epoch -1: "):
            list(inputs.batches(4))

    def test_a_part_keeps_the_symmetries_of_the_whole(self):
        whole = Split(self.root / "data")
        part, all_of = Inputs(whole[30:40:3], turned=True), Inputs(whole, turned=True)
        np.testing.assert_array_equal(part[2][0], all_of[36][0])

    def test_errors_reach_the_caller(self):
        inputs = Inputs(Split(self.root / "data"))
        inputs.split._shards = ["no.h5"] * len(inputs.split._shards)
        with self.assertRaisesRegex(DataError, "no.h5"):
            list(inputs.batches(4))


if __name__ == "__main__":
    unittest.main()
