"""Posteriors of universes: the draws that cosmo-infer --samples wrote."""

import pathlib

import h5py
import numpy as np

from cosmo_data.errors import DataError, parsing
from cosmo_data.manifest import checked_path, read_manifest


class Posterior:
    """Draws from the posterior of one universe: `names` (P), `samples` (draws, P) in physical units, and `log_density` (draws)."""

    def __init__(self, names, samples, log_density):
        self.names = names
        self.samples = samples
        self.log_density = log_density

    def _column(self, name):
        if name not in self.names:
            raise DataError(f"The posterior has no parameter {name!r}: choose from {', '.join(self.names)}.")
        return self.samples[:, self.names.index(name)]

    def mean(self, name):
        return float(self._column(name).mean())

    def deviation(self, name):
        return float(self._column(name).std())

    def quantile(self, name, probability):
        """The value below which the parameter lies with this probability, or values for several."""
        return np.quantile(self._column(name), probability)

    def covariance(self):
        """(parameters, parameters)"""
        return np.atleast_2d(np.cov(self.samples, rowvar=False))


class Posteriors:
    """The posteriors of all universes of predictions, by number: `len`, iteration over the numbers, and [number]."""

    def __init__(self, directory):
        directory = pathlib.Path(directory)
        manifest = read_manifest(directory)
        if manifest["stage"] not in ("infer", "predict"):
            raise DataError(f"{directory} is an output of the stage {manifest['stage']}: give predictions of cosmo-infer.")
        if "samples.h5" not in {record["path"] for record in manifest["files"]}:
            raise DataError(f"{directory} has no samples.h5: predict again with cosmo-infer --samples N.")
        self.path = checked_path(directory, manifest, "samples.h5")
        with parsing(self.path, "samples"), h5py.File(self.path) as file:
            self.names = [str(name) for name in file.attrs["parameter_names"]]
            self.universes = file["universes"][:].tolist()

    def __len__(self):
        return len(self.universes)

    def __iter__(self):
        return iter(self.universes)

    def __getitem__(self, number):
        if number not in self.universes:
            raise DataError(f"{self.path} has no universe {number}: choose from those that iteration over this gives.")
        row = self.universes.index(number)
        with parsing(self.path, "samples"), h5py.File(self.path) as file:
            return Posterior(self.names, file["samples"][row], file["log_density"][row])


def posterior(directory, number=None):
    """The posteriors in a directory of predictions, or that of the universe with this number: of a split its simulation's, of an
    --input its place in it."""
    all_of_them = Posteriors(directory)
    return all_of_them if number is None else all_of_them[number]
