"""What a network sees of a split: transformed and turned voxels, and labels, sample by sample or in batches."""

import collections
import concurrent.futures

import numpy as np

from cosmo_data.symmetries import choose_symmetry, turn
from cosmo_data.transform import Transform


class Inputs:
    """Samples of a Split as cosmo-train gives them to its network: inputs[i] is (voxels, labels).

    voxels (C, n, n, n) float32, C = 1 for a single redshift; labels (P) float32 in [-1, 1]. `transform` is a Transform or the name of
    one; by default that of cosmo-train. With `turned` each sample is turned by one of the 48 symmetries, a pure function of
    (`seed`, `epoch`, number of the sample): the one that cosmo-train draws with the same --seed in its epoch `epoch` + 1.
    Change `epoch` between passes. Raises DataError as Split does.
    """

    def __init__(self, split, transform=None, turned=False, seed=1):
        self.split, self.turned, self.seed, self.epoch = split, turned, seed, 0
        self.transform = transform if isinstance(transform, Transform) else Transform.of_dataset(split.manifest, transform)
        self.shape = (1, *split.shape)[-4:]
        self._table = self.transform.table(65535) if self.transform.name == "log1p" else None

    def __len__(self):
        return len(self.split)

    def __getitem__(self, index):
        voxels = np.empty(self.shape, "float32")
        self._fill(index, self.epoch, voxels)
        return voxels, self.split.labels(index)

    def _fill(self, index, epoch, out):
        """Writes the voxels of a sample to `out` (C, n, n, n)."""
        stored = self.split.voxels(index).reshape(self.shape)
        symmetry = choose_symmetry(self.seed, epoch, self.split.number(index)) if self.turned else 0
        turned = turn(stored, symmetry)
        if self.transform.name == "standard":
            np.subtract(turned, np.float32(self.transform.offset), out=out)
            out *= np.float32(self.transform.scale)
            return
        table = self._table if self._table is not None else self.transform.table(stored.max(), stored.mean() or 1.0)
        for channel, channel_out in zip(turned, out):
            for plane, plane_out in zip(channel, channel_out):  # a plane and its indices stay in cache
                np.take(table, plane, out=plane_out, mode="clip")

    def batch(self, indices, epoch=None):
        """voxels (B, C, n, n, n) and labels (B, P) of these samples, in `epoch` or the current one."""
        voxels = np.empty((len(indices), *self.shape), "float32")
        for index, out in zip(indices, voxels):
            self._fill(index, self.epoch if epoch is None else epoch, out)
        return voxels, np.stack([self.split.labels(index) for index in indices])

    def batches(self, batch_size, workers=2, shuffle=False):
        """Yields batch() of all samples, `batch_size` at once, the last perhaps smaller; `workers` threads read ahead.

        With `shuffle` their order is another one for each (seed, epoch). At most `workers` + 1 batches are held beside the one that
        was yielded. Every batch is an array of its own, which torch.from_numpy takes without a copy.
        """
        order = np.random.default_rng([self.seed, self.epoch]).permutation(len(self)) if shuffle else np.arange(len(self))
        ahead = collections.deque()
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            for first in range(0, len(order), batch_size):
                ahead.append(pool.submit(self.batch, order[first:first + batch_size], self.epoch))
                if len(ahead) > workers:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
