"""cosmo_data.torch_dataset in DataLoaders of every kind, and the training example."""

import importlib.util
import pickle
import re
import unittest

import numpy as np

from cosmo_data import Inputs, Split
from toolkit import ROOT, PipelineTest, run_script

HAS_TORCH = importlib.util.find_spec("torch") is not None


@unittest.skipUnless(HAS_TORCH, "needs python3-torch")
class TorchDataset(PipelineTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        from torch.utils.data import DataLoader

        from cosmo_data import torch_dataset
        cls.DataLoader, cls.TorchDataset = DataLoader, torch_dataset.TorchDataset
        cls.inputs = Inputs(Split(cls.data), turned=True)

    def expected(self, epoch):
        inputs = Inputs(self.inputs.split, turned=True)
        inputs.epoch = epoch
        return list(inputs.batches(7))

    def assert_same(self, loader, epoch):
        batches = list(loader)
        self.assertEqual(len(batches), len(self.expected(epoch)))
        for found, expected in zip(batches, self.expected(epoch)):
            for tensor, array in zip(found, expected):
                np.testing.assert_array_equal(tensor.numpy(), array)

    def test_items(self):
        dataset = self.TorchDataset(self.inputs)
        self.assertEqual(len(dataset), len(self.inputs))
        voxels, labels = dataset[0]
        self.assertEqual((tuple(voxels.shape), tuple(labels.shape)), ((1, 32, 32, 32), (3,)))
        labels.add_(7)
        self.assertFalse((dataset[0][1] == labels).any())
        pickled = pickle.dumps(dataset)
        self.assertLess(len(pickled), 1 << 16)  # or else a parent waits for ever for a worker that did not start
        again = pickle.loads(pickled)
        np.testing.assert_array_equal(again[1][0].numpy(), dataset[1][0].numpy())

    def test_workers(self):
        dataset = self.TorchDataset(self.inputs)
        dataset[0]  # whose shard this process has open now
        for workers, method in ((0, None), (2, "fork"), (2, "spawn")):
            dataset.set_epoch(4)
            self.assert_same(self.DataLoader(dataset, 7, num_workers=workers, multiprocessing_context=method), 4)

    def test_workers_that_persist(self):
        dataset = self.TorchDataset(self.inputs)
        loader = self.DataLoader(dataset, 7, num_workers=2, persistent_workers=True)
        for epoch in (0, 1, 5):
            dataset.set_epoch(epoch)
            self.assert_same(loader, epoch)

    def test_example(self):
        done = run_script(ROOT / "python/examples/train_torch.py", self.data, "--epochs", 2, "--batch", 8)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(re.findall(r"(?m)^epoch (\d): loss [0-9.]+, validation [0-9.]+, \d+ samples/s$", done.stdout), ["1", "2"])
        rows = re.findall(r"(?m)^(\w+): rms error ([0-9.]+), of the centre ([0-9.]+)$", done.stdout)
        self.assertEqual([row[0] for row in rows], self.inputs.split.names, done.stdout)

    def test_the_example_without_data(self):
        done = run_script(ROOT / "python/examples/train_torch.py", "nope")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"^nope/manifest.json does not exist: .*\n$")


if __name__ == "__main__":
    unittest.main()
