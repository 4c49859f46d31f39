"""Inputs as a PyTorch Dataset."""

try:
    import torch
except ImportError:
    raise ImportError("cosmo_data.torch_dataset needs PyTorch: install Debian's python3-torch, or torch from PyPI.") from None


class TorchDataset(torch.utils.data.Dataset):
    """An Inputs for torch.utils.data.DataLoader: dataset[i] is (voxels (C, n, n, n), labels (P)), both float32 tensors.

    It may be pickled, so DataLoader workers may be forked or spawned; each opens its own files. set_epoch() reaches workers that
    persist.
    """

    def __init__(self, inputs):
        self.inputs = inputs
        self._epoch = torch.tensor(inputs.epoch).share_memory_()

    def set_epoch(self, epoch):
        """Chooses the symmetries of an epoch, counted from 0, for samples that are asked for from now on."""
        self._epoch.fill_(epoch)

    def __len__(self):
        return len(self.inputs)

    def __getitem__(self, index):
        self.inputs.epoch = int(self._epoch)
        voxels, labels = self.inputs[index]
        return torch.from_numpy(voxels), torch.from_numpy(labels)
