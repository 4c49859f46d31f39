#!/usr/bin/python3
"""Writes pytorch_<network>.json: one training step of a network by PyTorch in double precision.

Weights, input and targets are the hash below, in float arithmetic that C++ repeats bit by bit; the step is L1 loss,
LARC as printed in Mathuriya et al. 2018 (III-B), then torch.optim.Adam at 2e-3. Run: /usr/bin/python3
make_pytorch_reference.py (Debian 12: python3-torch 1.13, libopenblas0). Double precision takes PyTorch's own
kernels, not oneDNN, so that the numbers are independent of the library under test. The inputs, 1 + u/32 and for mlperf
u, and their streams are chosen so that few of the 12 million values that meet a leaky ReLU at 128^3 are within 1e-6 of
its kink: a value that float rounding takes across it changes conv1's gradient by 1e-3 of its rms (PyTorch's own floats
against its doubles, with input u for cosmoflow and 1 + u/32 for mlperf). The same goes for the two largest values in a
maximum: at mlperf's 32^3 none are within 1e-5 rms of each other, at 64^3 hardly a stream keeps 1e-6. About 15 seconds.
"""
import functools
import json
import math
import os

import numpy as np
import torch
from torch import nn

PROBES = 100  # evenly spread plain indices a parameter


def uniform(stream, count):
    """float32 in [-1, 1): the upper 24 bits of splitmix64's finaliser of stream * 2^40 + element."""
    with np.errstate(over="ignore"):
        h = np.arange(count, dtype=np.uint64) + np.uint64((stream << 40) + 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF)
        h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        h ^= h >> np.uint64(31)
    return (h >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-23) - np.float32(1)


def act():
    return nn.LeakyReLU(0.01)


def cosmoflow(outputs):
    return nn.Sequential(
        nn.Conv3d(1, 16, 3), act(), nn.AvgPool3d(2), nn.Conv3d(16, 32, 4), act(), nn.AvgPool3d(2),
        nn.Conv3d(32, 64, 4), act(), nn.AvgPool3d(2), nn.Conv3d(64, 128, 3, 2), act(), nn.Conv3d(128, 256, 3), act(),
        nn.Conv3d(256, 256, 2), act(), nn.Conv3d(256, 256, 2), act(), nn.Flatten(),
        nn.Linear(2048, 2048), act(), nn.Linear(2048, 256), act(), nn.Linear(256, outputs))


def cosmoflow32(outputs):
    return nn.Sequential(
        nn.Conv3d(1, 16, 3, 2), act(), nn.Conv3d(16, 32, 3, 2), act(), nn.AvgPool3d(7), nn.Flatten(),
        nn.Linear(32, 32), act(), nn.Linear(32, outputs))


def cosmoflow64(outputs):
    return nn.Sequential(
        nn.Conv3d(1, 16, 3), act(), nn.AvgPool3d(2), nn.Conv3d(16, 32, 4), act(), nn.AvgPool3d(2),
        nn.Conv3d(32, 64, 4, 2), act(), nn.Conv3d(64, 64, 3), act(), nn.Conv3d(64, 128, 2), act(),
        nn.Conv3d(128, 128, 2), act(), nn.Flatten(),
        nn.Linear(1024, 1024), act(), nn.Linear(1024, 256), act(), nn.Linear(256, outputs))


class ScaledTanh(nn.Module):
    def forward(self, x):
        return 1.2 * torch.tanh(x)


def mlperf(outputs):
    """Without dropout, for 32^3 inputs."""
    channels = [4, 32, 64, 128, 256, 512]
    blocks = [layer for before, after in zip(channels, channels[1:])
              for layer in (nn.Conv3d(before, after, 3, padding="same"), nn.LeakyReLU(0.3), nn.MaxPool3d(2))]
    return nn.Sequential(*blocks, nn.Flatten(), nn.Linear(512, 128), nn.LeakyReLU(0.3), nn.Linear(128, 64),
                         nn.LeakyReLU(0.3), nn.Linear(64, outputs), ScaledTanh())


class Cosmonet32(nn.Module):
    """Level means, each tensor between levels read twice, normalised by the batch."""

    def __init__(self, outputs):
        super().__init__()
        channels = [1, 16, 16, 32, 32]
        self.convolutions = nn.ModuleList(nn.Conv3d(before, after, 3, padding=1, padding_mode="circular")
                                          for before, after in zip(channels, channels[1:]))
        self.dense = nn.ModuleList([nn.Linear(96, 64), nn.Linear(64, outputs)])
        self.numbers = [*range(8), *range(10, 14)]  # the toolkit counts the mean and deviation of the normalisation

    def forward(self, x):
        means = []
        for convolution in self.convolutions:
            x = nn.functional.avg_pool3d(nn.functional.leaky_relu(convolution(x), 0.01), 2)
            means.append(x.mean(dim=(2, 3, 4)))
        vector = nn.functional.batch_norm(torch.cat(means, 1), None, None, training=True, eps=1e-10)
        return self.dense[1](nn.functional.leaky_relu(self.dense[0](vector), 0.01))


def cosmonet32(outputs):
    return Cosmonet32(outputs)


class Unet(nn.Module):
    """Two levels that a skip joins, with every layer that makes more cells, normalised by the batch."""

    # As cosmo's description of a network: the toolkit's zoo has none of these layers.
    layers = [
        {"name": "a", "inputs": ["grid"], "kind": "convolution", "outputs": 16, "kernel": 3, "stride": 1, "padding": 1,
         "slope": 0.01},
        {"name": "pool", "inputs": ["a"], "kind": "average_pool", "size": 2, "stride": 2},
        {"name": "b", "inputs": ["pool"], "kind": "convolution", "outputs": 32, "kernel": 3, "stride": 1, "padding": 1,
         "slope": 0.01},
        {"name": "up", "inputs": ["b"], "kind": "transposed_convolution", "outputs": 16, "kernel": 4, "stride": 2,
         "padding": 1, "slope": 0.01},
        {"name": "near", "inputs": ["b"], "kind": "resample", "factor": 2, "interpolation": "nearest"},
        {"name": "linear", "inputs": ["pool"], "kind": "resample", "factor": 2, "interpolation": "linear"},
        {"name": "box", "inputs": ["pool"], "kind": "resample", "factor": 2, "interpolation": "periodic"},
        {"name": "join", "inputs": ["up", "a", "near", "linear", "box"], "kind": "concat"},
        {"name": "c", "inputs": ["join"], "kind": "convolution", "outputs": 16, "kernel": 3, "stride": 1, "padding": 1,
         "slope": 0.01},
        {"name": "mean", "inputs": ["c"], "kind": "global_mean", "squares": False},
        {"name": "normal", "inputs": ["mean"], "kind": "normalise"},
        {"name": "out", "inputs": ["normal"], "kind": "dense", "outputs": 0, "slope": 1}]
    description = {"name": "unet", "input": "grid", "layers": layers}
    numbers = [*range(8), 10, 11]  # the toolkit counts the mean and deviation of the normalisation
    transposed = {4: 2}  # the stride of "up", whose weights PyTorch has as (inputs, outputs, ...)

    def __init__(self, outputs):
        super().__init__()
        self.a, self.b = nn.Conv3d(1, 16, 3, padding=1), nn.Conv3d(16, 32, 3, padding=1)
        self.up = nn.ConvTranspose3d(32, 16, 4, 2, padding=1)
        self.c, self.out = nn.Conv3d(96, 16, 3, padding=1), nn.Linear(16, outputs)

    def forward(self, x):
        linear = functools.partial(nn.functional.interpolate, scale_factor=2, mode="trilinear", align_corners=False)
        a = act()(self.a(x))
        pool = nn.functional.avg_pool3d(a, 2)
        b = act()(self.b(pool))
        inside = slice(2, -2)
        box = linear(nn.functional.pad(pool, (1,) * 6, mode="circular"))[:, :, inside, inside, inside]
        near = nn.functional.interpolate(b, scale_factor=2, mode="nearest")
        c = act()(self.c(torch.cat([act()(self.up(b)), a, near, linear(pool), box], 1)))
        mean = nn.functional.batch_norm(c.mean(dim=(2, 3, 4)), None, None, training=True, eps=1e-10)
        return self.out(mean)


def unet(outputs):
    return Unet(outputs)


def start_values(index, parameter, stride=1):
    scale = np.float32(0.1)
    if parameter.dim() > 1:
        field = math.prod(parameter.shape[2:])
        fan_out, fan_in = parameter.shape[0] * field, parameter.shape[1] * field // stride**3
        scale = np.float32(math.sqrt(6.0 / (fan_in + fan_out)))
    return (scale * uniform(100 + index, parameter.numel())).reshape(parameter.shape)


def larc_paper(parameter):
    v, g = parameter.detach().norm().item(), parameter.grad.norm().item()
    parameter.grad *= min(0.002 * v / g if v and g else 6.25e-5, 1.0)


def reference(make, channels, size, batch, outputs, field):
    net = make(outputs).double()
    parameters = list(net.parameters())
    transposed = getattr(net, "transposed", {})

    def plain(i, tensor):
        return tensor.transpose(0, 1) if i in transposed else tensor

    with torch.no_grad():
        for i, (number, p) in enumerate(zip(getattr(net, "numbers", range(len(parameters))), parameters)):
            plain(i, p).copy_(torch.from_numpy(start_values(number, plain(i, p), transposed.get(i, 1))).double())
    noise = uniform(field["stream"], batch * channels * size**3)
    row = np.repeat(np.arange(batch, dtype=np.float32), channels * size**3)
    growth = np.float32(1) + np.float32(field.get("growth", 0)) * row  # samples of a normalised network must differ
    voxels = np.float32(field["offset"]) + np.float32(field["scale"]) * growth * noise
    x = torch.from_numpy(voxels.reshape(batch, channels, size, size, size)).double()
    y = torch.from_numpy(uniform(1001, batch * outputs).reshape(batch, outputs)).double()
    prediction = net(x)
    loss = nn.functional.l1_loss(prediction, y)
    loss.backward()
    rows = []
    for i, p in enumerate(parameters):
        n = p.numel()
        count = min(n, PROBES)
        probes = [j * (n - 1) // max(count - 1, 1) for j in range(count)]
        g = plain(i, p.grad).flatten()
        rows.append({
            "gradient_norm": float(g.norm()),
            "projection": float(g.dot(torch.from_numpy(uniform(2000 + i, n)).double())),
            "values_norm": float(p.detach().norm()),
            "gradient": [float(f"{v:.7g}") for v in g[probes].tolist()],
            "probes": probes})
        larc_paper(p)
    # epsilon of Kingma & Ba's algorithm 1 that equals the paper's epsilon-hat at the first step
    torch.optim.Adam(parameters, lr=2e-3, betas=(0.9, 0.999), eps=1e-8 / math.sqrt(1 - 0.999)).step()
    for i, (row, p) in enumerate(zip(rows, parameters)):
        row["updated"] = [float(f"{v:.9g}") for v in plain(i, p.detach()).flatten()[row.pop("probes")].tolist()]
    described = {"network": net.description} if hasattr(net, "description") else {}
    return described | {"channels": channels, "size": size, "batch": batch, "input": field,
            "outputs": [[float(v) for v in r] for r in prediction.tolist()],
            "loss": loss.item(), "parameters": rows}


if __name__ == "__main__":
    torch.set_num_threads(2)
    here = os.path.dirname(os.path.abspath(__file__))
    near_one = {"stream": 1000, "offset": 1, "scale": 1 / 32}
    growing = {"stream": 1000, "offset": 0, "scale": 1, "growth": 0.5}
    for make, *case in ((cosmonet32, 1, 16, 4, 3, growing), (unet, 1, 8, 4, 3, growing), (cosmoflow32, 1, 32, 2, 3, near_one), (cosmoflow64, 1, 64, 2, 3, near_one),
                        (cosmoflow, 1, 128, 1, 3, near_one),
                        (mlperf, 4, 32, 1, 4, {"stream": 1056, "offset": 0, "scale": 1})):
        with open(os.path.join(here, f"pytorch_{make.__name__}.json"), "w") as file:
            json.dump(reference(make, *case), file, separators=(",", ":"))
            file.write("\n")
