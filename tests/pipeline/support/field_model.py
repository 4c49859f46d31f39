"""What tests of models of fields and of classes share."""

import json

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
