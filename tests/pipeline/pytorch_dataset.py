"""The PyTorch Dataset of docs/reading.md runs as it stands there and gives the shards' samples.

Usage: pytorch_dataset.py COSMO_PREP MAKE_SUITE FAULTS  (the last is not used)
"""
import glob
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import h5py
import numpy as np

PREP, MAKE_SUITE = sys.argv[1:3]
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "reading.md"

with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    (program,) = re.findall(r"```python\n(# shards\.py\n.*?)```", PAGE.read_text(), re.DOTALL)
    pathlib.Path("shards.py").write_text(program)
    subprocess.run([MAKE_SUITE, "sim", "10", "12"], check=True)
    subprocess.run([PREP, "shard", "--input", "sim", "--output", "data", "--samples-per-shard", "9", "--validation", "2",
                    "--test", "2", "--quiet"], check=True, capture_output=True)
    done = subprocess.run([sys.executable, "shards.py", "data"], check=True, capture_output=True, text=True, timeout=300)
    assert done.stdout.count("torch.Size([4, 1, 6, 6, 6]) torch.Size([4, 3])") == 12, done.stdout

    sys.path.insert(0, work)
    from shards import Shards
    for split in ("train", "validation", "test"):
        samples = [Shards("data", split)[i] for i in range(len(Shards("data", split)))]
        x, y = [], []
        for path in sorted(glob.glob(f"data/{split}/*.h5")):
            with h5py.File(path) as shard:
                x.extend(shard["x"][:])
                y.extend(shard["y_unit"][:])
        assert len(samples) == len(x) > 0
        for (voxels, labels), counts, unit in zip(samples, x, y):
            np.testing.assert_allclose(voxels.numpy()[0], np.log1p(counts.astype(float)), rtol=1e-6)
            np.testing.assert_array_equal(labels.numpy(), unit)
