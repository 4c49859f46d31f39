"""The 48 symmetries of the cube, numbered as in cosmo-train: they change a universe's orientation and none of its parameters."""

import itertools
import operator
from typing import NamedTuple

from cosmo_data.philox import AUGMENTATION, uniform

SYMMETRIES = 48
_AXES = list(itertools.permutations(range(3)))


class Symmetry(NamedTuple):
    """A signed permutation of the axes: output axis a runs along input axis axes[a], backwards if flipped[a]."""

    axes: tuple
    flipped: tuple


def cube_symmetry(index):
    """Symmetry 0 ... 47; 0 is the identity, 0 ... 7 are the mirrorings. Raises ValueError for any other number, TypeError for what is none."""
    index = operator.index(index)
    if not 0 <= index < SYMMETRIES:
        raise ValueError(f"there is no symmetry {index}: give 0 to {SYMMETRIES - 1}")
    return Symmetry(_AXES[index // 8], tuple(bool(index >> axis & 1) for axis in range(3)))


def choose_symmetry(seed, epoch, sample):
    """The number of the symmetry that cosmo-train applies to a sample of the training split, counted from 0, in an epoch, counted from 0.

    Raises ValueError for a seed that is not below 2**64, or an epoch or sample that is not below 2**32.
    """
    seed, epoch, sample = map(operator.index, (seed, epoch, sample))
    for name, number, bits in ("seed", seed, 64), ("epoch", epoch, 32), ("sample", sample, 32):
        if not 0 <= number < 2**bits:
            raise ValueError(f"there is no {name} {number}: give 0 to 2**{bits} - 1")
    return int(uniform(seed, AUGMENTATION, (epoch, sample, 0)) * SYMMETRIES)


def turn(voxels, symmetry):
    """Voxels (..., n, n, n) turned by a symmetry, given by its number; a view, nothing is copied."""
    axes, flipped = cube_symmetry(symmetry)
    first = voxels.ndim - 3
    turned = voxels.transpose(*range(first), *(first + axis for axis in axes))
    return turned[(..., *(slice(None, None, -1 if backwards else 1) for backwards in flipped))]


def turn_vectors(vectors, symmetry):
    """Vectors (..., 3, n, n, n), such as velocities, turned by a symmetry: components are turned and reordered with the voxels; a copy."""
    axes, flipped = cube_symmetry(symmetry)
    turned = turn(vectors, symmetry)[..., list(axes), :, :, :]
    for axis, backwards in enumerate(flipped):
        if backwards:
            turned[..., axis, :, :, :] *= -1
    return turned
