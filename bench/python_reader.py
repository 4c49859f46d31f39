#!/usr/bin/python3
"""Measures the rate at which cosmo_data reads, transforms and turns the training samples of a dataset.

Each way is timed over --samples samples, --rounds times in turn, after all shards were read once, so that the files are in memory.
Prints the median samples per second of each way and its ratio to reading the same bytes with pread in one thread.
"""

import argparse
import itertools
import os
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from cosmo_data import Inputs, Split  # noqa: E402


def pread(split, samples):
    """Reads as many bytes as the samples have, from the start of each shard on."""
    size = split[0].voxels.nbytes
    buffer, read = bytearray(size), 0
    paths = [split.directory / name for name in split.manifest["splits"]["train"]["shards"]]
    for path in itertools.cycle(paths):
        file = os.open(path, os.O_RDONLY)
        for place in range(0, os.path.getsize(path) - size + 1, size):
            os.preadv(file, [buffer], place)
            read += 1
            if read == samples:
                break
        os.close(file)
        if read == samples:
            return


class Repeated:
    """A split of this many samples, which are those of another over and over."""

    def __init__(self, split, samples):
        self.split, self.samples = split, samples
        self.directory, self.manifest, self.shape, self.dtype = split.directory, split.manifest, split.shape, split.dtype

    def __len__(self):
        return self.samples

    def number(self, index):
        return int(index)

    def voxels(self, index, out=None):
        return self.split.voxels(index % len(self.split), out)

    def labels(self, index):
        return self.split.labels(index % len(self.split))


def consume(batches):
    """Adds up all voxels, since a network reads them, too."""
    for voxels, _ in batches:
        voxels.sum()


def each(items):
    """Takes one item after another and keeps none."""
    for _ in items:
        pass


def data_loader(inputs, batch, workers):
    from torch.utils.data import DataLoader

    from cosmo_data.torch_dataset import TorchDataset
    consume(DataLoader(TorchDataset(inputs), batch_size=batch, num_workers=workers))


def ways(split, options):
    """{what is timed: function}"""
    repeated = Repeated(split, options.samples)
    turned, plain = Inputs(repeated, turned=True), Inputs(repeated)
    table = {"pread": lambda: pread(split, options.samples),
             "voxels, checked": lambda: each(map(repeated.voxels, range(options.samples))),
             "not turned, no worker": lambda: consume(map(plain.__getitem__, range(options.samples))),
             "turned, no worker": lambda: consume(map(turned.__getitem__, range(options.samples))),
             "turned, workers 2": lambda: consume(turned.batches(options.batch, 2)),
             "turned, workers 2, reuse": lambda: consume(turned.batches(options.batch, 2, reuse=True))}
    if not options.no_torch:
        table["turned, DataLoader of 2"] = lambda: data_loader(turned, options.batch, 2)
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", metavar="DATA", help="directory that cosmo-prep shard wrote")
    parser.add_argument("--samples", type=int, default=192, help="samples of a round, repeated if the dataset has fewer (%(default)s)")
    parser.add_argument("--batch", type=int, default=4, help="samples of a batch (%(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="times that each way is timed (%(default)s)")
    parser.add_argument("--no-torch", action="store_true", help="leave PyTorch's DataLoader out")
    options = parser.parse_args()
    split = Split(options.data)
    split.verify()
    table = ways(split, options)
    seconds = {name: [] for name in table}
    for _ in range(options.rounds):
        for name, run in table.items():
            begin = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - begin)
    print(f"{options.samples} samples of {' x '.join(map(str, split.shape))} voxels, batches of {options.batch}")
    for name, times in seconds.items():
        ratio = statistics.median(first / other for first, other in zip(seconds["pread"], times))
        print(f"{name:25} {options.samples / statistics.median(times):7.3g} samples/s, {ratio:.3f} of pread")


if __name__ == "__main__":
    main()
