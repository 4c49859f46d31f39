"""A split of a dataset as a lazy sequence of samples."""

import collections.abc
import functools
import operator
import os
import pathlib
from typing import NamedTuple

import numpy as np

from cosmo_data.errors import DataError, parsing
from cosmo_data.manifest import checked_path, read_manifest
from cosmo_data.shard import Shard, voxel_dtype

OPEN_SHARDS = 32  # per split and process


class Identity(NamedTuple):
    """Where a sample stands and what it was cut from."""

    shard: str  #: path in the dataset's directory
    row: int
    simulation: int
    subvolume: int
    seed: int
    roll: int  #: 0: the universe was not rolled before it was cut


class Sample(NamedTuple):
    """One sub-volume with the parameters of its universe."""

    voxels: np.ndarray  #: counts, uint16, or a field, float32: (n, n, n) or (C, n, n, n)
    parameters: np.ndarray  #: (P) float64, physical, in the order of Split.names
    identity: Identity

    def __eq__(self, other):
        return (isinstance(other, Sample) and self.identity == other.identity and np.array_equal(self.parameters, other.parameters)
                and np.array_equal(self.voxels, other.voxels))

    def __ne__(self, other):  # or else that of tuples
        return not self == other

    def __hash__(self):
        return hash(self.identity)


def _open(directory, manifest, name, rows, process):
    """A shard, opened for one process: HDF5 files must not be shared with forked ones."""
    return Shard(directory / name, manifest, rows)


class Split(collections.abc.Sequence):
    """The samples of a split ("train", "validation" or "test") in a directory that cosmo-prep shard or import wrote.

    split[i] is a Sample, split[i:j:k] another Split of these samples. Opening reads the manifest and compares the shards' sizes with
    it; a shard is opened when one of its samples is asked for, and only that sample's voxels are read. The crc32 of the voxels is
    checked at each reading unless `check` is False; verify() compares whole files with their sha256. A Split may be pickled,
    used by several threads and inherited by forked processes: each process opens its own files.

    `names`, `low` and `high` (P) are the parameters and the ends of their ranges, which labels have as -1 and 1; `shape` and `dtype`
    those of a sample's voxels; `manifest` that of the dataset, parsed.

    Raises DataError if anything is missing, damaged or of another kind.
    """

    def __init__(self, directory, split="train", check=True):
        if not isinstance(split, str):
            raise TypeError(f"a split has a name, as 'train'; {split!r} is none")
        self.directory, self.split, self.check = pathlib.Path(directory).absolute(), split, check
        self.manifest = read_manifest(directory, "shard")
        path = self.directory / "manifest.json"
        with parsing(path, "manifest"):
            if split not in self.manifest["splits"]:
                raise DataError(f"{path} lacks {split!r}: choose from {', '.join(self.manifest['splits'])}, or restore it.")
            self.names = self.manifest["parameters"]["names"]
            self.low, self.high = (np.array(self.manifest["parameters"][key], float) for key in ("low", "high"))
            self.shape = tuple(map(operator.index, self.manifest["shape"]))
            self.dtype = voxel_dtype(self.manifest)
            record = self.manifest["splits"][split]
            self._shards, self._samples = record["shards"], operator.index(record["samples"])
            self._numbers = range(self._samples)
            origin = self.manifest.get("origin", self.manifest["config"])
            self._per_shard = operator.index(origin.get("samples_per_shard", self._samples))
            if not 0 < len(self._numbers) <= len(self._shards) * self._per_shard < self._samples + self._per_shard:
                raise ValueError(f"{self._samples} samples of {split} in {len(self._shards)} shards of {self._per_shard}")
            if not self.low.shape == self.high.shape == (len(self.names),) or not np.all(self.low < self.high):
                raise ValueError(f"parameters {self.names} from {self.low} to {self.high}")
            if len(self.shape) not in (3, 4) or min(self.shape) < 1 or len(set(self.shape[-3:])) > 1:
                raise ValueError(f"samples of shape {self.shape}, which are not cubes")
            for name in self._shards:
                checked_path(self.directory, self.manifest, name)
        self._forget()

    def _forget(self):
        """Lets go of open files. The cache does not refer to the Split, so that they are closed with it."""
        self._opened = functools.lru_cache(OPEN_SHARDS)(functools.partial(_open, self.directory, self.manifest))

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "_opened"}

    def __setstate__(self, state):
        vars(self).update(state)
        self._forget()

    def _place(self, index):
        """The open shard of a sample, and its row there."""
        number, row = divmod(self.number(index), self._per_shard)
        rows = min(self._per_shard, self._samples - number * self._per_shard)
        return self._opened(self._shards[number], rows, os.getpid()), row

    def __len__(self):
        return len(self._numbers)

    def __getitem__(self, index):
        if not isinstance(index, slice):
            return Sample(self.voxels(index), self.parameters(index), self.identity(index))
        part = object.__new__(Split)
        part.__setstate__(self.__getstate__() | {"_numbers": self._numbers[index]})
        return part

    def number(self, index):
        """The number of a sample in the whole split, which cosmo-train counts by, too."""
        return self._numbers[operator.index(index)]

    def voxels(self, index, out=None):
        """Counts, uint16, or a field, float32, of shape `shape`: (n, n, n) or (C, n, n, n), z fastest, channels by redshift.

        They are read into the array `out` of this shape and `dtype` if it is given.
        """
        shard, row = self._place(index)
        return shard.read(row, self.check, out)

    def target(self, index, out=None):
        """The field beside the counts, float32 or uint8 for classes, (n, n, n) on the same voxels, if the data set has one (cosmo-prep shard --target)."""
        shard, row = self._place(index)
        return shard.target(row, self.check, out)

    def velocity(self, index, out=None):
        """Mean peculiar velocity of the particles in each voxel along x, y and z [km/s], float32 (3, n, n, n), if the data set has velocities
        (cosmo-prep shard --velocity)."""
        shard, row = self._place(index)
        return shard.velocity(row, self.check, out)

    def parameters(self, index):
        """(P) float64: the parameters in physical units, in the order of `names`."""
        shard, row = self._place(index)
        return shard.y[row].copy()

    def labels(self, index):
        """(P) float32: the parameters mapped from [low, high] to [-1, 1]."""
        shard, row = self._place(index)
        return shard.y_unit[row].copy()

    def identity(self, index):
        """The Identity of a sample."""
        shard, row = self._place(index)
        return Identity(shard.path.relative_to(self.directory).as_posix(), row, int(shard.simulation[row]), int(shard.subvolume[row]),
                        int(shard.seed[row]), int(shard.roll[row]))

    def settings(self, index):
        """The settings of the sample's universe in which universes of the dataset differ: {"steps": 7, "force_kernel": "two-point"}."""
        shard, row = self._place(index)
        columns = self.manifest.get("settings", [])
        return {column["name"]: column["texts"][int(value)] if "texts" in column else float(value)
                for column, value in zip(columns, shard.settings[row] if columns else ())}

    def physical(self, labels):
        """Labels (..., P) in [-1, 1] as parameters in physical units, float64."""
        return self.low + (np.asarray(labels, float) + 1) / 2 * (self.high - self.low)

    def verify(self):
        """Reads every shard of the split and compares it with the sha256 in the manifest. Raises DataError naming the first that differs."""
        for name in self._shards:
            checked_path(self.directory, self.manifest, name, content=True)
