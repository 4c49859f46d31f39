"""The tides of the counts of a periodic box: what models with --tides read beside the counts."""

import numpy as np


def tides(counts, smoothing):
    """Eigenvalues (3, n, n, n) of the tidal tensor of the counts' density, the largest first; `smoothing` is R of --tides in voxels.

    The tensor is the second derivatives of the inverse Laplacian of the density contrast, smoothed by a Gaussian. All zeros of an empty box.
    """
    counts = np.asarray(counts, float)
    n = len(counts)
    if not counts.any():
        return np.zeros((3, n, n, n))
    axis, half = 2 * np.pi * np.fft.fftfreq(n), 2 * np.pi * np.fft.rfftfreq(n)
    k = np.meshgrid(axis, axis, half, indexing="ij")
    square = sum(wave**2 for wave in k)
    square[0, 0, 0] = np.inf
    slope = [np.where(np.isclose(np.abs(wave), np.pi), 0, wave) for wave in k]  # a Nyquist wave has none
    potential = np.fft.rfftn(counts / counts.mean() - 1) * np.exp(-np.where(np.isinf(square), 0, square) * smoothing**2 / 2) / square
    second = lambda i, j: np.fft.irfftn(potential * (k[i]**2 if i == j else slope[i] * slope[j]), (n, n, n), axes=(0, 1, 2))
    tensor = np.array([[second(i, j) for j in range(3)] for i in range(3)])
    return np.moveaxis(np.linalg.eigvalsh(np.moveaxis(tensor, (0, 1), (3, 4)))[..., ::-1], 3, 0)
