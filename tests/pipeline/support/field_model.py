"""What tests of models of fields and of classes share."""

import csv
import json

import h5py
import numpy as np

from toolkit import STOPPED, DirectoryTest, run, succeed


class FieldModelTest(DirectoryTest):
    """Classes have a `model`, the `data` and the `words` that it was trained with, and `out`, its predictions."""

    def assert_same_elsewhere(self, *predicted):
        """These files of the predictions on two ranks, and a training that was stopped on two."""
        succeed("cosmo-infer", "--model", self.model, "--data", self.data, "--output", self.root / "two", ranks=2)
        for name in predicted:
            self.assertEqual((self.out / name).read_bytes(), (self.root / "two" / name).read_bytes())
        words = ["cosmo-train", *self.words, "--deterministic", "any", "--epochs", 2]
        succeed(*words, "--output", self.root / "one")
        stopped = run(*words, "--time-limit", "1e-5", "--output", self.root / "stopped", ranks=2)
        self.assertEqual(stopped.returncode, STOPPED, stopped.stderr)
        succeed(*words, "--output", self.root / "stopped")
        self.assertEqual(*[(self.root / name / "history.csv").read_text() for name in ("one", "stopped")])
        self.assertEqual(*[json.loads((self.root / name / "manifest.json").read_text()).get("field_posterior") for name in ("one", "stopped")])

    def assert_same_shared(self, name, tolerance):
        """Ranks that share samples train and predict as one does, but for rounding, and a stop changes no bit. `name`: a predicted file;
        `tolerance`: of its values."""
        words = ["cosmo-train", *self.words, "--epochs", 2]
        losses, fields = {}, {}
        for ranks, shared in ((1, 1), (2, 2), (4, 4)):
            trained, out = self.root / f"trained-{ranks}-{shared}", self.root / f"shared-{ranks}-{shared}"
            sharing = ["--ranks-per-sample", shared, "--threads", 1]
            succeed(*words, *sharing, "--output", trained, ranks=ranks)
            with open(trained / "history.csv", newline="") as file:
                losses[ranks, shared] = np.array([[float(row["train_loss"]), float(row["validation_loss"])] for row in csv.DictReader(file)])
            succeed("cosmo-infer", "--model", self.model, "--data", self.data, *sharing, "--output", out, ranks=ranks)
            with h5py.File(out / name) as file:
                fields[ranks, shared] = file[file.attrs["quantity"]][()].astype(float)
        for layout, found in losses.items():
            np.testing.assert_allclose(found, losses[1, 1], rtol=1e-4, err_msg=str(layout))
            self.assertLessEqual(np.abs(fields[layout] - fields[1, 1]).mean(), tolerance, layout)
        stopped = self.root / "shared-and-stopped"
        sharing = ["--ranks-per-sample", 2, "--threads", 1, "--output", stopped]
        self.assertEqual(run(*words, *sharing, "--time-limit", "1e-5", ranks=2).returncode, STOPPED)
        succeed(*words, *sharing, ranks=2)
        self.assertEqual((stopped / "history.csv").read_text(), (self.root / "trained-2-2" / "history.csv").read_text())
