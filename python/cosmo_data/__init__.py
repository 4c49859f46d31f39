"""Reads what the cosmo tools wrote: shards as a lazy sequence, turned and transformed as cosmo-train does.

`cosmo_data.torch_dataset` (needs PyTorch) and `cosmo_data.frames` (needs pandas) are imported by their names.
"""

from cosmo_data.errors import DataError
from cosmo_data.inputs import Inputs
from cosmo_data.manifest import read_manifest
from cosmo_data.posteriors import Posterior, Posteriors, posterior
from cosmo_data.reconstruction import reconstruct
from cosmo_data.split import Identity, Sample, Split
from cosmo_data.symmetries import SYMMETRIES, Symmetry, choose_symmetry, cube_symmetry, turn, turn_vectors
from cosmo_data.tides import tides
from cosmo_data.transform import Transform

__all__ = ["SYMMETRIES", "DataError", "Identity", "Inputs", "Posterior", "Posteriors", "Sample", "Split", "Symmetry", "Transform", "choose_symmetry",
           "cube_symmetry", "posterior", "read_manifest", "reconstruct", "tides", "turn", "turn_vectors"]
