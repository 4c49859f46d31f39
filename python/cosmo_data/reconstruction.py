"""The initial density as the counts of a periodic box have it: what models with --reconstruct read beside the counts."""

import numpy as np

LARGEST_PART = 2  # mass that moves together, in units of a voxel's mean mass
LEAST_MASS = 0.05  # that of a cell whose displacement counts in full


def _waves(n):
    """Wavenumbers along each axis of a transform, and where they are Nyquist waves, which have no direction."""
    k, half = 2 * np.pi * np.fft.fftfreq(n), 2 * np.pi * np.fft.rfftfreq(n)
    waves = np.meshgrid(k, k, half, indexing="ij", sparse=True)
    return waves, [np.isclose(np.abs(wave), np.pi) for wave in waves]


def _cells(places, n):
    """(cells, shares) of the eight cells around places (3, M) [voxels]."""
    first = np.floor(places).astype(int)
    share = places - first
    for corner in np.ndindex(2, 2, 2):
        x, y, z = ((low + c) % n for low, c in zip(first, corner))
        yield (x * n + y) * n + z, np.prod([s if c else 1 - s for s, c in zip(share, corner)], axis=0)


def _assign(values, places, n):
    """Cloud in cell of values (M) at places."""
    total = sum(np.bincount(cells, values * shares, n**3) for cells, shares in _cells(places, n))
    return total.reshape(n, n, n)


def _parts(counts):
    """Places (3, M) and masses (M) of parts of at most LARGEST_PART, evenly in their voxels."""
    n, mass = len(counts), (counts / counts.mean()).ravel()
    each = np.maximum(1, np.ceil(np.cbrt(mass / LARGEST_PART))).astype(int)
    nodes = np.array(np.unravel_index(np.arange(n**3), (n, n, n)), float)
    places, masses = [], []
    for number in np.unique(each[mass > 0]):
        chosen = (each == number) & (mass > 0)
        inside = np.array(np.meshgrid(*[(np.arange(number) + 0.5) / number - 0.5] * 3, indexing="ij")).reshape(3, -1)
        places.append((nodes[:, chosen, None] + inside[:, None, :]).reshape(3, -1))
        masses.append(np.repeat(mass[chosen] / number**3, number**3))
    return np.concatenate(places, axis=1), np.concatenate(masses)


def reconstruct(counts, smoothing):
    """Iterative reconstruction (n, n, n) of the density at z = 0 in linear theory; `smoothing` is R of --reconstruct in voxels.

    Mass is moved back by its displacements in linear theory after smoothing by 2R, and then R; the result is minus the divergence of
    the displacements at the places where it ends, and the density that is left (after arXiv:1704.06634). All zeros of an empty box.
    """
    counts = np.asarray(counts, float)
    n = len(counts)
    if not counts.any():
        return np.zeros((n, n, n))
    waves, nyquist = _waves(n)
    square = sum(wave**2 for wave in waves)
    square[0, 0, 0] = np.inf
    real = lambda modes: np.fft.irfftn(modes, (n, n, n), axes=(0, 1, 2))
    start, masses = _parts(counts)
    places = start.copy()
    for radius in (2 * smoothing, smoothing):
        modes = np.fft.rfftn(_assign(masses, places, n)) * np.exp(-square * radius**2 / 2) / square
        fields = [real(np.where(edge, 0, 1j * wave * modes)).ravel() for wave, edge in zip(waves, nyquist)]
        places = places - np.array([sum(field[cells] * shares for cells, shares in _cells(places, n)) for field in fields])
    mass = _assign(masses, places, n)
    density = mass - 1
    for wave, edge, moved in zip(waves, nyquist, start - places):
        field = _assign(masses * moved, places, n) / np.maximum(mass, LEAST_MASS)
        density -= real(np.where(edge, 0, 1j * wave * np.fft.rfftn(field)))
    return density
