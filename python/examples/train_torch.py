#!/usr/bin/python3
"""Trains a small 3-D convolutional network with PyTorch on shards that cosmo-prep wrote.

Prints the losses of each epoch, then the rms errors on the validation split next to those of always predicting the centre of each
parameter's range.
"""

import argparse
import pathlib
import sys
import time

import torch
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # not needed once cosmo_data is installed
from cosmo_data import DataError, Inputs, Split  # noqa: E402


def network(channels, outputs):
    """Means of 64 features at an eighth of the resolution, then two dense layers. Convolutions are periodic."""
    def level(inputs, features):
        return nn.Sequential(nn.Conv3d(inputs, features, 3, padding=1, padding_mode="circular"), nn.LeakyReLU(0.1), nn.AvgPool3d(2))
    return nn.Sequential(level(channels, 8), level(8, 32), level(32, 64), nn.AdaptiveAvgPool3d(1), nn.Flatten(),
                         nn.BatchNorm1d(64), nn.Linear(64, 64), nn.LeakyReLU(0.1), nn.Linear(64, outputs))


def outputs_of(model, inputs, batch_size, workers):
    """(N, P) outputs and labels of all samples, in their order."""
    model.eval()
    with torch.no_grad():
        pairs = [(model(torch.from_numpy(voxels)), torch.from_numpy(labels)) for voxels, labels in inputs.batches(batch_size, workers, reuse=True)]
    return [torch.cat(each) for each in zip(*pairs)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", metavar="DATA", help="directory that cosmo-prep shard wrote")
    parser.add_argument("--epochs", type=int, default=12, help="passes over the training samples (%(default)s)")
    parser.add_argument("--batch", type=int, default=16, help="samples per step (%(default)s)")
    parser.add_argument("--learning-rate", type=float, default=3e-3, help="highest learning rate (%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="threads that read ahead (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of weights, order and symmetries (%(default)s)")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    split = Split(options.data, "train")
    train, validation = Inputs(split, turned=True, seed=options.seed), Inputs(Split(options.data, "validation"))
    model, mse = network(train.shape[0], len(split.names)), nn.MSELoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.learning_rate)
    steps = options.epochs * -(-len(train) // options.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, options.learning_rate, total_steps=steps)
    for train.epoch in range(options.epochs):
        begin, total = time.perf_counter(), 0.0
        model.train()
        for voxels, labels in train.batches(options.batch, options.workers, shuffle=True, reuse=True):
            optimizer.zero_grad()
            loss = mse(model(torch.from_numpy(voxels)), torch.from_numpy(labels))
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item() * len(labels)
        rate = len(train) / (time.perf_counter() - begin)
        outputs, truths = outputs_of(model, validation, options.batch, options.workers)
        print(f"epoch {train.epoch + 1}: loss {total / len(train):.4f}, validation {mse(outputs, truths):.4f}, {rate:.0f} samples/s")
    half_range = torch.tensor(split.high - split.low) / 2
    for name, error, centre in zip(split.names, (outputs - truths).pow(2).mean(0).sqrt() * half_range,
                                   truths.pow(2).mean(0).sqrt() * half_range):
        print(f"{name}: rms error {error:.4f}, of the centre {centre:.4f}")


if __name__ == "__main__":
    try:
        main()
    except DataError as error:
        sys.exit(str(error))
