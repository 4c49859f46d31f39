"""How counts, or the values of a field, become the numbers that a network sees: cosmo-train's --voxels."""

from typing import NamedTuple

import numpy as np

from cosmo_data.errors import DataError

COUNTS = ("log1p", "mean")
FIELDS = ("standard",)


class Transform(NamedTuple):
    """A transform of voxels, with the numbers that it takes from the training data.

    log1p: scale (log(1 + count) - offset); mean: scale (count / mean of the sample - offset); standard: scale (value - offset).
    """

    name: str
    offset: float = 0.0
    scale: float = 1.0

    @classmethod
    def of_dataset(cls, manifest, name=None):
        """The transform that cosmo-train derives from a dataset's manifest: log1p for counts and standard for fields, or the one named.

        Raises DataError if it is not for this kind of voxels.
        """
        allowed = FIELDS if "voxel_type" in manifest else COUNTS
        name = name or allowed[0]
        statistics = manifest["statistics"]
        if name not in allowed:
            raise DataError(f"The dataset holds {'a float32 field' if allowed is FIELDS else 'counts'}, which {name!r} is not for: give "
                            f"{' or '.join(map(repr, allowed))}.")
        if name == "log1p":
            return cls(name, float(np.log1p(statistics["mean_count"])))
        if name == "standard":
            return cls(name, statistics["mean"], 1 / statistics["deviation"])
        return cls(name)

    @classmethod
    def of_model(cls, manifest):
        """The transform that a model was trained with, from its manifest (stage "train")."""
        recorded = manifest["normalisation"]
        return cls(recorded["voxels"], recorded["offset"], recorded["scale"])

    def table(self, largest, mean=1.0):
        """(largest + 1) float32: what each count becomes, in a sample with this mean."""
        counts = np.arange(largest + 1.0)
        values = np.log1p(counts) if self.name == "log1p" else counts / mean
        return (self.scale * (values - self.offset)).astype("float32")
