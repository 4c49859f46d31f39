"""How counts, or the values of a field, become the numbers that a network sees: cosmo-train's --voxels."""

from typing import NamedTuple

import numpy as np

from cosmo_data.errors import DataError

COUNTS = ("log1p", "mean")
FIELDS = ("standard", "log1p", "log")
_CURVES = {"log1p": np.log1p, "log": np.log}


class Transform(NamedTuple):
    """A transform of voxels, with the numbers that it takes from the training data.

    log1p: scale (log(1 + x) - offset); mean: scale (count / mean of the sample - offset); standard: scale (x - offset);
    log: scale (log(x) - offset). For fields of several channels, offset and scale may be tuples of a number for each.
    """

    name: str
    offset: float | tuple = 0.0
    scale: float | tuple = 1.0

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
        if allowed is FIELDS:
            return cls._of_field(statistics, name)
        return cls(name, float(np.log1p(statistics["mean_count"])) if name == "log1p" else 0.0)

    @classmethod
    def _of_field(cls, statistics, name):
        channels = statistics.get("channels", [])
        if name == "standard" and len(channels) < 2:  # manifests of earlier versions have no channels
            return cls(name, statistics["mean"], 1 / statistics["deviation"])
        if not channels:
            raise DataError(f"{name!r} needs the ranges of the channels, which this dataset, of an earlier version, lacks: repeat "
                            "cosmo-prep import with --force.")
        limit = {"log1p": -1, "log": 0}.get(name, -np.inf)
        for number, channel in enumerate(channels):
            if channel["lowest"] <= limit:
                raise DataError(f"{name!r} takes values above {limit}, and the lowest of channel {number} is {channel['lowest']:g}, in "
                                f"{channel['lowest_in']}: give 'standard'.")
        used = channels if name == "standard" else [channel[name] for channel in channels]
        offset = tuple(channel["mean"] for channel in used)
        scale = tuple(1 / channel["deviation"] if channel["deviation"] > 0 else 1.0 for channel in used)
        return cls(name, offset, scale) if len(used) > 1 else cls(name, offset[0], scale[0])

    @classmethod
    def of_model(cls, manifest):
        """The transform that a model was trained with, from its manifest (stage "train")."""
        recorded = manifest["normalisation"]
        offset, scale = (tuple(recorded[key]) if isinstance(recorded[key], list) else recorded[key] for key in ("offset", "scale"))
        return cls(recorded["voxels"], offset, scale)

    def of_field(self, field, out):
        """Writes what the voxels of a field (C, n, n, n) become to `out`."""
        offset, scale = (np.reshape(np.asarray(number, "float32"), (-1, 1, 1, 1)) for number in (self.offset, self.scale))
        if self.name in _CURVES:
            field = _CURVES[self.name](field, out=out)
        np.subtract(field, offset, out=out)
        out *= scale

    def table(self, largest, mean=1.0):
        """(largest + 1) float32: what each count becomes, in a sample with this mean."""
        counts = np.arange(largest + 1.0)
        values = np.log1p(counts) if self.name == "log1p" else counts / mean
        return (self.scale * (values - self.offset)).astype("float32")
