"""The PyTorch Dataset of docs/reference/reading.md runs as it stands there and gives the shards' samples."""

import importlib.util
import re
import subprocess
import sys
import unittest

import h5py
import numpy as np

from toolkit import ROOT, PrepTest

PAGE = ROOT / "docs/reference/reading.md"


class Dataset(PrepTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (program,) = re.findall(r"```python\n(# shards\.py\n.*?)```", PAGE.read_text(), re.DOTALL)
        cls.program = cls.root / "shards.py"
        cls.program.write_text(program)

    def test_it_runs_as_a_program(self):
        done = subprocess.run([sys.executable, "shards.py", "data"], cwd=self.root, capture_output=True, text=True,
                              timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("torch.Size([4, 1, 6, 6, 6]) torch.Size([4, 3])"), 12, done.stdout)

    def test_it_gives_the_samples_of_the_shards(self):
        spec = importlib.util.spec_from_file_location("shards", self.program)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for split in ("train", "validation", "test"):
            dataset = module.Shards(self.root / "data", split)
            samples, x, y = [dataset[i] for i in range(len(dataset))], [], []
            for path in sorted((self.root / "data" / split).glob("*.h5")):
                with h5py.File(path) as shard:
                    x.extend(shard["x"][:])
                    y.extend(shard["y_unit"][:])
            self.assertEqual(len(samples), len(x))
            self.assertGreater(len(x), 0)
            for (voxels, labels), counts, unit in zip(samples, x, y):
                np.testing.assert_allclose(voxels.numpy()[0], np.log1p(counts.astype(float)), rtol=1e-6)
                np.testing.assert_array_equal(labels.numpy(), unit)


if __name__ == "__main__":
    unittest.main()
