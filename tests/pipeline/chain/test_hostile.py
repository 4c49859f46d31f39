"""Input that was made to harm: nothing hangs, crashes, obeys it, or takes memory without end; each refusal is one sentence."""

import contextlib
import gzip
import json
import os
import pathlib
import shutil
import subprocess
import unittest

import h5py
import numpy as np

from toolkit import ENVIRONMENT, PipelineTest, command, cosmo_train, error_line, record_again, run, succeed

USAGE, CONFIG, IO, FORMAT, NUMERIC = 2, 3, 4, 5, 6


class Hostile(PipelineTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = cls.root / "model"
        cosmo_train(*cls.train_words(), "--epochs", 1, "--output", cls.model)
        cls.counts = next(cls.sim.glob("sim-*/counts_z0.h5"))

    def refused(self, code, part, tool, *words):
        """The sentence with which a tool refuses within seconds."""
        done = subprocess.run(command(1, tool, *words), env=ENVIRONMENT, capture_output=True, text=True, timeout=30, cwd=self.root)
        self.assertEqual(done.returncode, code, done.stderr[:2000])
        sentence = error_line(done, tool)
        self.assertIn(str(part), sentence)
        return sentence

    @contextlib.contextmanager
    def altered_model(self, name, change_weights=None, **details):
        """A copy of the model with one weight or members of its manifest changed, and all checksums right."""
        copy = shutil.copytree(self.model, self.root / name)
        if change_weights is not None:
            path, = (copy / state["path"] for state in json.loads((copy / "manifest.json").read_text())["checkpoints"] if state["best"])
            with h5py.File(path, "r+") as file:
                for group in ("weights", "average"):
                    if group in file:
                        change_weights(file[group])
            record_again(copy, path)
        manifest = json.loads((copy / "manifest.json").read_text())
        (copy / "manifest.json").write_text(json.dumps(manifest | details))
        yield copy

    def test_nothing_outside_of_the_output_is_written_or_removed(self):
        suite = ("generate", "--simulations", 4, "--omega-m", "0.25:0.35", "--box", 64, "--particles", 16, "--steps", 1)
        output, home = self.root / "linked", self.root / "home"
        run("cosmo-sim", *suite, "--select", "0:2", "--output", output)
        home.mkdir()
        (home / "thesis.txt").write_text("years")
        (output / "sim-00003").symlink_to(home)
        with open(output / "journal.jsonl", "a") as journal:
            journal.write(json.dumps({"bytes": 6, "path": "sim-00003/thesis.txt", "sha256": "0" * 64}) + "\n")
        self.refused(IO, "sim-00003", "cosmo-sim", *suite, "--output", output)
        self.assertEqual([path.name for path in home.iterdir()], ["thesis.txt"])
        (output / "sim-00003").unlink()
        self.assertEqual(run("cosmo-sim", *suite, "--output", output).returncode, 0)

    def test_a_closed_standard_error_costs_nothing(self):
        words = command(1, "cosmo-sim", "generate", "--box", 64, "--particles", 16, "--steps", 1, "--output", self.root / "unheard")
        done = subprocess.run(["bash", "-c", '"$@" 2>&-', "bash", *words], env=ENVIRONMENT, stdout=subprocess.DEVNULL, timeout=60)
        self.assertEqual(done.returncode, 0)

    def test_values_that_are_not_in_the_file_are_not_made_up(self):
        def counts(name, cells, particles, **storage):
            copy = pathlib.Path(shutil.copy(self.counts, self.root / name))
            with h5py.File(copy, "r+") as file:
                del file["counts"]
                file.create_dataset("counts", (cells,) * 3, "<u2", **storage)
                if storage.get("compression"):
                    file["counts"][0, 0, 0] = particles
                file.attrs["voxel"] = np.float64(file.attrs["box"] / cells)
                file.attrs["particles"] = np.uint64(particles)
            return copy
        for name, cells, storage in (("sparse.h5", 1024, {"chunks": (128,) * 3}), ("unwritten.h5", 4096, {}),
                                     ("bomb.h5", 512, {"chunks": (512,) * 3, "compression": "gzip"})):
            path = counts(name, cells, 1, **storage)
            for tool, *words in (("cosmo-sim", "inspect", path), ("cosmo-infer", "--model", self.model, "--input", path)):
                with self.subTest(name=name, tool=tool):
                    self.refused(FORMAT, name, tool, *words)

    def test_checkpoints_hold_numbers_that_a_training_can_have(self):
        changes = {"loss": lambda file: file.attrs.modify("epoch_loss", np.nan),
                   "history": lambda file: file["history"].write_direct(np.full(file["history"].shape, np.nan)),
                   "second": lambda file: [data.write_direct(-np.ones(data.shape, "f4")) for data in file["second_moment"].values()
                                           if isinstance(data, h5py.Dataset)] or file["second_moment"].visititems(
                                               lambda _, item: item.write_direct(-np.ones(item.shape, "f4")) if isinstance(item, h5py.Dataset) else None)}
        for name, change in changes.items():
            with self.subTest(name):
                model = shutil.copytree(self.model, self.root / f"checkpoint-{name}")
                path = sorted(model.glob("checkpoints/*.h5"))[-1]
                with h5py.File(path, "r+") as file:
                    change(file)
                record_again(model, path)
                self.refused(FORMAT, path.name, "cosmo-train", *self.train_words(), "--epochs", 2, "--resume", "--output", model)

    def test_a_models_manifest_that_is_unusable_is_written_again(self):
        for name, change in (("none", {"checkpoints": []}), ("weights", {"weights": "second_moment"}),
                             ("epochs", {"training": {"loss": "mse", "epochs": 0}})):
            with self.subTest(name), self.altered_model(f"useless-{name}", **change) as model:
                self.refused(FORMAT, "train again", "cosmo-infer", "export", "--model", model, "--output", self.root / f"{name}.onnx")
                done = run("cosmo-train", *self.train_words(), "--epochs", 1, "--output", model)
                self.assertEqual(done.returncode, 0, done.stderr)
                done = run("cosmo-infer", "export", "--model", model, "--output", self.root / f"{name}.onnx")
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_options_from_a_file_that_cannot_be_read(self):
        self.refused(IO, "cannot be read to its end", "cosmo-sim", "generate", "--config", "/proc/self/mem", "--output", self.root / "no")

    def test_pipes_and_devices_are_not_waited_for(self):
        pipe = self.root / "pipe"
        os.mkfifo(pipe)
        os.symlink(pipe, self.root / "pipe.npy")
        os.symlink(pipe, self.root / "pipe.csv")
        directory = self.root / "manifest-pipe"
        directory.mkdir()
        os.mkfifo(directory / "manifest.json")
        begun = self.root / "journal-pipe"
        begun.mkdir()
        os.mkfifo(begun / "journal.jsonl")
        for tool, *words in (("cosmo-infer", "--model", self.model, "--input", pipe),
                             ("cosmo-sim", "generate", "--particles", 16, "--output", begun),
                             ("cosmo-infer", "--model", self.model, "--input", "pipe.npy", "--box", 128),
                             ("cosmo-infer", "--model", directory, "--input", self.counts),
                             ("cosmo-prep", "histogram", "--input", pipe, "--output", "never"),
                             ("cosmo-prep", "histogram", "--input", "pipe.csv", "--output", "never"),
                             ("cosmo-prep", "shard", "--input", directory, "--output", "never"),
                             ("cosmo-prep", "import", "--format", "npy", "--input", self.root, "--samples", pipe, "--box", 64,
                              "--parameters", "omega_m=0.25:0.35", "--output", "never"),
                             ("cosmo-sim", "generate", "--design", pipe, "--output", "never"),
                             ("cosmo-sim", "generate", "--transfer", pipe, "--output", "never"),
                             ("cosmo-sim", "generate", "--config", pipe, "--output", "never"),
                             ("cosmo-train", "--data", self.data, "--network", "pipe.json", "--output", "never"),
                             ("cosmo-sim", "generate", "--config", "/dev/zero", "--output", "never"),
                             ("cosmo-sim", "generate", "--design", "/dev/zero", "--output", "never"),
                             ("cosmo-sim", "inspect", pipe)):
            if "pipe.json" in words and not (self.root / "pipe.json").exists():
                os.symlink(pipe, self.root / "pipe.json")
            self.refused(IO, "", tool, *words)
        self.assertFalse((self.root / "never").exists())

    def test_large_texts_are_not_read_whole(self):
        blank = self.root / "blank.ini"
        with open(blank, "w") as file:
            file.truncate(2 << 30)
        self.refused(FORMAT, blank, "cosmo-sim", "generate", "--config", blank, "--output", "never")
        directory = self.root / "blank"
        directory.mkdir()
        with open(directory / "manifest.json", "w") as file:
            file.truncate(2 << 30)
        self.refused(FORMAT, "manifest.json", "cosmo-prep", "shard", "--input", directory, "--output", "never")

    def test_a_record_of_zeros_takes_no_memory(self):
        source = self.root / "bomb"
        source.mkdir()
        with gzip.open(source / "bomb.tfrecord", "wb", compresslevel=1) as file:
            for _ in range(64):
                file.write(bytes(1 << 22))
        (self.root / "bomb.csv").write_text("file,split,simulation,seed,omega_m\nbomb.tfrecord,train,0,1,0.3\n")
        words = command(1, "cosmo-prep", "import", "--format", "tfrecord", "--input", source, "--samples", self.root / "bomb.csv", "--box", 128,
                        "--parameters", "omega_m=0.25:0.35", "--output", self.root / "never")
        with subprocess.Popen(words, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True) as process:
            told = process.stderr.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, FORMAT, told)
        self.assertIn("bomb.tfrecord is damaged", told)
        self.assertLess(usage.ru_maxrss, 100_000)  # kB; it holds 268,000

    def test_text_of_files_does_not_reach_the_terminal_as_it_is(self):
        design = self.root / "design.csv"
        design.write_text("omega_m\n0.3\n\x1b]0;owned\x07\x1b[31mX\n")
        sentence = self.refused(FORMAT, "\\x1b]0;owned\\x07\\x1b[31mX", "cosmo-sim", "generate", "--design", design, "--output", "never")
        self.assertTrue(sentence.isprintable())
        network = self.root / "long.json"
        network.write_text(json.dumps({"name": "long", "input": "voxels", "layers": [
            {"name": "last", "kind": "dense", "inputs": ["a" * 100_000], "outputs": 0, "slope": 1}]}))
        sentence = self.refused(CONFIG, "bytes]", "cosmo-train", "--data", self.data, "--network", network, "--output", "never")
        self.assertLess(len(sentence), 2200)

    def test_a_lock_that_is_a_link_is_not_followed(self):
        thesis, output = self.root / "thesis.txt", self.root / "locked"
        thesis.write_text("years of work")
        output.mkdir()
        os.symlink(thesis, output / ".lock")
        self.refused(IO, ".lock", "cosmo-sim", *self.sim_words(), "--output", output)
        self.assertEqual(thesis.read_text(), "years of work")

    def test_nothing_that_is_not_finite_leaves(self):
        def spoil(value):
            def change(group):
                name = sorted(group)[0]
                group[name]["weights"][...] = np.float32(value)
            return change
        for name, value in (("nan", np.nan), ("inf", np.inf), ("large", 3e38)):
            with self.altered_model(name, change_weights=spoil(value)) as model:
                output = self.root / f"{name}-predictions"
                self.refused(NUMERIC, "", "cosmo-infer", "--model", model, "--data", self.data, "--output", output)
                self.assertFalse((output / "predictions.csv").exists())
                self.refused(NUMERIC, "", "cosmo-infer", "--model", model, "--input", self.counts)
                self.refused(NUMERIC, "finite", "cosmo-infer", "export", "--model", model, "--output", output / "model.onnx")
                self.assertFalse(output.exists() and (output / "model.onnx").exists())

    def test_a_manifest_of_a_huge_or_bottomless_network(self):
        network = json.loads((self.model / "manifest.json").read_text())["network"]
        network["layers"][0]["outputs"] = 2147483647
        with self.altered_model("huge", network=network) as model:
            self.refused(FORMAT, model / "manifest.json", "cosmo-infer", "--model", model, "--input", self.counts)
        network["layers"][0]["outputs"] = 512
        with self.altered_model("wide", network=network) as model:
            self.refused(FORMAT, "does not hold", "cosmo-infer", "--model", model, "--input", self.counts)
        with self.altered_model("deep") as model:
            text = (model / "manifest.json").read_text()
            (model / "manifest.json").write_text(text[:-1] + ', "x": ' + "[" * 10**6 + "]" * 10**6 + "}")
            self.refused(FORMAT, "manifest.json", "cosmo-infer", "--model", model, "--input", self.counts)

    def test_damaged_texts_in_files(self):
        """HDF5's own reader of them hangs and crashes on such files."""
        snapshot = self.root / "snapshot"
        succeed("cosmo-sim", "generate", "--particles", 16, "--box", 64, "--steps", 2, "--save", "particles", "--output", snapshot)
        snapshot, = snapshot.glob("sim-00000/*.hdf5")
        bad = self.root / "damaged.h5"
        for source in (self.counts, snapshot):
            whole = source.read_bytes()
            heap = whole.index(b"GCOL")
            for at in (heap + 8, heap + 16, heap + 24, heap + 40, heap + 48):
                for value in (0, 65536, 2**63):
                    content = bytearray(whole)
                    content[at:at + 8] = value.to_bytes(8, "little")
                    bad.write_bytes(content)
                    for words in (("cosmo-sim", "inspect", bad), ("cosmo-infer", "--model", self.model, "--input", bad)):
                        done = subprocess.run(command(1, *words), env=ENVIRONMENT, capture_output=True, text=True, timeout=30)
                        self.assertIn(done.returncode, (0, CONFIG, FORMAT), f"{words} {at - heap} {value}: {done.stderr}")

    def test_bytes_of_other_files_are_not_taken(self):
        """No checksum covers such bytes."""
        elsewhere = self.root / "elsewhere.h5"
        with h5py.File(self.counts) as file, h5py.File(elsewhere, "w") as other:
            counts = file["counts"][...]
            other["counts"] = counts
        counts.tofile(self.root / "elsewhere.raw")
        layout = h5py.VirtualLayout(counts.shape, counts.dtype)
        layout[...] = h5py.VirtualSource(elsewhere, "counts", counts.shape)

        def external(file):
            file.create_dataset("counts", counts.shape, counts.dtype, external=[(str(self.root / "elsewhere.raw"), 0, h5py.h5f.UNLIMITED)])

        def linked(file):
            file["counts"] = h5py.ExternalLink(str(elsewhere), "/counts")

        def soft(file):
            file["others"] = counts
            file["counts"] = h5py.SoftLink("/others")

        def virtual(file):
            file.create_virtual_dataset("counts", layout)

        for change in (external, linked, soft, virtual):
            bad = self.root / f"{change.__name__}.h5"
            shutil.copy(self.counts, bad)
            with h5py.File(bad, "r+") as file:
                del file["counts"]
                change(file)
            for words in (("cosmo-sim", "inspect", bad), ("cosmo-infer", "--model", self.model, "--input", bad)):
                self.assertRegex(self.refused(FORMAT, bad, *words), "link in place of|stored in other files")
        data = shutil.copytree(self.data, self.root / "linked-data")
        shard = data / "train/shard-00000.h5"
        with h5py.File(shard, "r+") as file, h5py.File(elsewhere, "a") as other:
            other["x"] = file["x"][...]
            del file["x"]
            file["x"] = h5py.ExternalLink(str(elsewhere), "/x")
        record_again(data, shard)
        self.refused(FORMAT, shard, "cosmo-prep", "verify", data)
        self.refused(FORMAT, shard, "cosmo-train", "--data", data, *self.train_words()[2:], "--epochs", 1, "--output", "begun")

    def test_names_with_commas_and_marks(self):
        model = shutil.copytree(self.model, self.root / "a,b")
        self.assertIn("parameters", succeed("cosmo-infer", "--model", model, "--input", self.counts))
        config = self.root / "marked.ini"
        config.write_text("\ufeffparticles = 32\r\nbox = 128\r\n", encoding="utf-8")
        self.assertEqual(succeed("cosmo-sim", "generate", "--config", config, "--output", self.root / "marked", "--dry-run")["simulations"], 1)
        config.write_text("config = other.ini\n")
        self.refused(USAGE, "config", "cosmo-sim", "generate", "--config", config, "--output", "never")


if __name__ == "__main__":
    unittest.main()
