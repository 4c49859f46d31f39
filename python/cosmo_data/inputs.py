"""What a network sees of a split: transformed and turned voxels, and labels, sample by sample or in batches."""

import collections
import concurrent.futures

import numpy as np

from cosmo_data.errors import parsing
from cosmo_data.symmetries import choose_symmetry, turn
from cosmo_data.transform import Transform


_SLAB = 4  # planes looked up at once: with fewer, threads wait for Python's lock more often; more leave the cache


def _look_up(table, counts, out):
    """out = table[counts]; both (C, n, n, n), `counts` turned by a symmetry.

    Slabs contain the axis that is the last in memory, and each is first copied in the order of memory: reading in strides of n² counts
    takes twice as long at n = 128.
    """
    axis = 1 if abs(counts.strides[1]) > counts.itemsize else 2
    for planes, planes_out in zip(np.moveaxis(counts, axis, 1), np.moveaxis(out, axis, 1)):
        for first in range(0, len(planes), _SLAB):
            slab = slice(first, first + _SLAB)
            np.take(table, planes[slab].copy(order="K"), out=planes_out[slab], mode="clip")


class Inputs:
    """Samples of a Split as cosmo-train gives them to its network: inputs[i] is (voxels, labels).

    voxels (C, n, n, n) float32, C = 1 for a single redshift: `shape`; labels (P) float32 in [-1, 1], the order of `split.names`. `transform` is a Transform or the name of
    one; by default that of cosmo-train. With `turned` each sample is turned by one of the 48 symmetries, a pure function of
    (`seed`, `epoch`, number of the sample): the one that cosmo-train draws with the same --seed in its epoch `epoch` + 1.
    Change `epoch` between passes. Raises DataError as Split does, and ValueError for a seed or epoch out of range.
    """

    def __init__(self, split, transform=None, turned=False, seed=1):
        self.split, self.turned, self.seed, self.epoch = split, turned, seed, 0
        choose_symmetry(seed, 0, 0)  # refuses a seed that is none
        with parsing(split.directory / "manifest.json", "manifest"):
            self.transform = transform if isinstance(transform, Transform) else Transform.of_dataset(split.manifest, transform)
        self.shape = (1, *split.shape)[-4:]
        self._counts = split.dtype == np.uint16
        self._make_table()

    def _make_table(self):
        self._table = self.transform.table(65535) if self._counts and self.transform.name == "log1p" else None

    def __getstate__(self):  # without the table: a pipe to a process that failed to start may hold no more than 64 KiB
        return {name: value for name, value in vars(self).items() if name != "_table"}

    def __setstate__(self, state):
        vars(self).update(state)
        self._make_table()

    def __len__(self):
        return len(self.split)

    def __getitem__(self, index):
        voxels = np.empty(self.shape, "float32")
        self._fill(index, self.epoch, voxels, np.empty(self.split.shape, self.split.dtype))
        return voxels, self.split.labels(index)

    def _fill(self, index, epoch, out, buffer):
        """Writes the voxels of a sample to `out` (C, n, n, n); `buffer` is for those in the file."""
        stored = self.split.voxels(index, buffer).reshape(self.shape)
        symmetry = choose_symmetry(self.seed, epoch, self.split.number(index)) if self.turned else 0
        turned = turn(stored, symmetry)
        if not self._counts:
            self.transform.of_field(turned, out)
            return
        table = self._table if self._table is not None else self.transform.table(stored.max(), stored.mean() or 1.0)
        _look_up(table, turned, out)

    def batch(self, indices, epoch=None, out=None):
        """voxels (B, C, n, n, n) and labels (B, P) of these samples, in `epoch` or the current one; the voxels in `out` if given."""
        voxels = np.empty((len(indices), *self.shape), "float32") if out is None else out[:len(indices)]
        buffer = np.empty(self.split.shape, self.split.dtype)
        for index, grid in zip(indices, voxels):
            self._fill(index, self.epoch if epoch is None else epoch, grid, buffer)
        return voxels, np.stack([self.split.labels(index) for index in indices])

    def batches(self, batch_size, workers=2, shuffle=False, reuse=False):
        """Yields batch() of all samples, `batch_size` at once, the last perhaps smaller; `workers` threads read ahead.

        With `shuffle` their order is another one for each (seed, epoch). Memory is that of `workers` + 1 batches. With `reuse` it is
        allocated only once, and a batch is overwritten as soon as the next one is asked for; without, each batch has arrays of its
        own. torch.from_numpy takes them without a copy.
        """
        if batch_size < 1:
            raise ValueError(f"there is no batch of {batch_size} samples: give 1 or more")
        if workers < 1:
            raise ValueError(f"there are no {workers} workers, of which one at least must read: give 1 or more")
        choose_symmetry(self.seed, self.epoch, 0)  # refuses an epoch that is none
        order = np.random.default_rng([self.seed, self.epoch]).permutation(len(self)) if shuffle else np.arange(len(self))
        size = min(batch_size, len(self))
        ring = [np.empty((size, *self.shape), "float32") if reuse else None for _ in range(workers + 1)]
        ahead = collections.deque()
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            for number, first in enumerate(range(0, len(order), batch_size)):
                part = order[first:first + batch_size]
                ahead.append(pool.submit(self.batch, part, self.epoch, ring[number % len(ring)]))
                if len(ahead) > workers:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
