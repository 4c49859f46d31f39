"""Every refusal is one sentence that names what is wrong, with its exit code, the same on one rank and on two."""

import re
import shutil
import unittest

import eisenstein_hu
from toolkit import PipelineTest, error_line, run, succeed

USAGE, CONFIG, IO, FORMAT = 2, 3, 4, 5
TOOLS = {"cosmo-sim": ["generate"], "cosmo-prep": ["shard"], "cosmo-train": [], "cosmo-infer": []}


class Refusing(PipelineTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = cls.root / "model"
        succeed("cosmo-train", *cls.train_words(), "--epochs", 1, "--output", cls.model)
        cls.predictions = cls.root / "predictions"
        succeed("cosmo-infer", *cls.infer_words(), "--output", cls.predictions)

    @classmethod
    def infer_words(cls):
        return ["--model", cls.model, "--data", cls.data]

    def refused(self, code, parts, tool, *words, counts_of_ranks=(1, 2)):
        """Checks exit code and sentence, which is the same on one rank and on two."""
        sentences = []
        for ranks in counts_of_ranks:
            done = run(tool, *words, ranks=ranks)
            self.assertEqual(done.returncode, code, f"{tool} {words} on {ranks} ranks\n{done.stderr}")
            self.assertEqual(done.stdout, "")
            sentences.append(error_line(done, tool))
            for part in parts:
                self.assertIn(str(part), sentences[-1])
        self.assertEqual(len(set(sentences)), 1)

    def copy(self, source, name):
        return shutil.copytree(source, self.root / name)


class Options(Refusing):
    """Words, files of options and values."""

    def test_unknown_options_and_commands(self):
        for tool, words in TOOLS.items():
            self.refused(USAGE, ["--omega-q"], tool, *words, "--omega-q", 3)
        self.refused(USAGE, ["simulate", "generate"], "cosmo-sim", "simulate")
        self.refused(USAGE, ["command"], "cosmo-prep")
        settings = self.root / "settings.ini"
        settings.write_text("omega-q = 3\n")
        for tool, words in TOOLS.items():
            self.refused(USAGE, ["omega-q", settings], tool, *words, "--config", settings)

    def test_values_of_flags_in_files(self):
        settings = self.root / "flags.ini"
        settings.write_text("force = yes\n")
        for tool, words in TOOLS.items():
            self.refused(USAGE, ["--force"], tool, *words, "--config", settings)

    def test_options_that_no_file_or_manifest_can_hold(self):
        self.refused(IO, ["--config"], "cosmo-sim", "generate", "--output", self.root / "never", "--config", self.root)
        binary = self.root / "binary.ini"
        binary.write_bytes(b"\x7fELF\0\x1b[31m")
        self.refused(USAGE, [binary, "not text"], "cosmo-sim", "generate", "--output", self.root / "never", "--config",
                     binary)
        for name, value, code, part in (("--seed", 2**64 - 1, CONFIG, "between 0 and 9007199254740991"),
                                        ("--mesh", 10**20 - 1, CONFIG, "between 4 and 8192"),
                                        ("--omega-m", "0.3:", USAGE, "LOW:HIGH")):
            self.refused(code, [f"{name} is", value, part], "cosmo-sim", "generate", "--output", self.root / "never",
                         name, value, counts_of_ranks=(1,))
        self.refused(USAGE, ["0.1:0.2:0.3", "LOW:HIGH"], "cosmo-sim", "generate", "--output", self.root / "never",
                     "--omega-m", "0.1:0.2:0.3")
        self.refused(USAGE, ["--output", "UTF-8"], "cosmo-sim", "generate", "--output", b"bad\xff".decode("utf8", "surrogateescape"))

    def test_what_a_single_universe_needs(self):
        counts, particles = self.sim / "sim-00000/counts_z0.h5", self.root / "particles"
        succeed("cosmo-sim", "generate", "--box", 100, "--particles", 16, "--steps", 1, "--save", "particles", "--output",
                particles)
        self.refused(CONFIG, ["snapshot_z0.hdf5", "multiple of 32"], "cosmo-infer", "--model", self.model, "--input",
                     particles / "sim-00000/snapshot_z0.hdf5")
        self.refused(USAGE, ["--model"], "cosmo-infer", "--input", counts)
        self.refused(USAGE, ["--output"], "cosmo-infer", "--input", counts, "--model", self.model, "--output", "x")

    def test_grids_and_cuts(self):
        output = ["--output", self.root / "never"]
        self.refused(CONFIG, ["--grid", "--subvolumes"], "cosmo-prep", "shard", "--input", self.sim, "--subvolumes", 3,
                     *output)
        self.refused(CONFIG, ["--grid"], "cosmo-prep", "shard", "--input", self.sim, "--grid", 48, *output)
        self.refused(CONFIG, ["--validation"], "cosmo-prep", "shard", "--input", self.sim, "--validation", 8, "--test",
                     2, *output)

    def test_help_and_version_of_every_tool(self):
        for tool, words in TOOLS.items():
            help_text = run(tool, *words, "--help")
            self.assertEqual(help_text.returncode, 0)
            self.assertEqual(run(tool, *words, "-h").stdout, help_text.stdout)
            self.assertEqual(run(tool, "-h").stdout, run(tool, "--help").stdout)
            for option in ("--output", "--config", "--threads", "--peer-timeout", "--dry-run", "--force",
                           "--quiet", "--json"):
                self.assertIn(option, help_text.stdout)
            self.assertIn("Example", help_text.stdout)
            self.assertLessEqual(max(map(len, help_text.stdout.splitlines())), 100)
            version = run(tool, "--version")
            self.assertEqual(version.returncode, 0)
            self.assertRegex(version.stdout, rf"^{tool} \d+\.\d+\.\d+ \(\S+; (Release|Debug), \w+ [\d.]+, ")
            if re.search(r"GNU 12\.[0-3]\.", version.stdout):
                self.assertIn("-mmove-max=128 -mstore-max=128", version.stdout)


class Values(Refusing):
    """Numbers, spectra and designs of cosmo-sim."""

    def test_values_that_are_not_numbers_or_out_of_range(self):
        output = ["--output", self.root / "never"]
        self.refused(USAGE, ["--box"], "cosmo-sim", "generate", *output, "--box", "wide")
        self.refused(USAGE, ["--seed"], "cosmo-sim", "generate", *output, "--seed", "1.5")
        self.refused(CONFIG, ["sigma8"], "cosmo-sim", "generate", *output, "--sigma8", "0")
        self.refused(CONFIG, ["--box"], "cosmo-sim", "generate", *output, "--box", "-5")
        self.refused(CONFIG, ["--peer-timeout"], "cosmo-sim", "generate", *output, "--peer-timeout", "-1")
        self.refused(CONFIG, ["--mesh is 3"], "cosmo-sim", "generate", *output, "--mesh", "3")
        self.refused(CONFIG, ["omega_m is -0.1"], "cosmo-sim", "generate", *output, "--omega-m", "-0.1")
        self.refused(CONFIG, ["w0 is -0.5", "wa 0.5"], "cosmo-sim", "generate", *output, "--w0", "-0.5", "--wa", "0.5",
                     counts_of_ranks=(1,))
        self.refused(USAGE, ["--box", "100kpc"], "cosmo-sim", "generate", *output, "--box", "100kpc",
                     counts_of_ranks=(1,))
        self.refused(CONFIG, ["--box is 0 Mpc: choose a value between 1.42248 and 142248."], "cosmo-sim", "generate",
                     *output, "--box", "0Mpc", counts_of_ranks=(1,))
        self.refused(CONFIG, ["--box is 1.5 Mpc"], "cosmo-sim", "generate", *output, "--box", "1.5Mpc", "--h", "0.6:0.8",
                     "--simulations", 20, counts_of_ranks=(1,))
        self.refused(CONFIG, ["omega_m"], "cosmo-sim", "generate", *output, "--simulations", 4, "--omega-m", "0.01:0.3")
        self.refused(USAGE, ["--loss", "mae or mse"], "cosmo-train", *self.train_words(), *output, "--loss", "l3")
        self.refused(CONFIG, ["--micro-batch"], "cosmo-train", *self.train_words(), *output, "--micro-batch", 0)
        for ranks in (1, 2):  # the sentence names the number of ranks
            done = run("cosmo-train", *self.train_words(), *output, "--micro-batch", 3, ranks=ranks)
            self.assertEqual(done.returncode, CONFIG)
            self.assertIn(f"--global-batch 8 is not a multiple of --micro-batch 3 × {ranks} ranks",
                          error_line(done, "cosmo-train"))
        for ranks, batch, sentence in ((3, 16, "--global-batch 16 must be a multiple of the 3 ranks: give 15 or 18,"),
                                       (3, 2, "--global-batch 2 must be a multiple of the 3 ranks: give 3,"),
                                       (1, 49, "--global-batch 49 exceeds the 48 training samples of"),
                                       (5, 2**20, f"training samples of {self.data}: give at most 45.")):
            done = run("cosmo-train", "--data", self.data, "--network", "cosmoflow32", *output, "--global-batch", batch,
                       ranks=ranks)
            self.assertEqual(done.returncode, CONFIG)
            self.assertIn(sentence, error_line(done, "cosmo-train"))

        def training(code, parts, *words):
            network = [] if "--network" in words else ["--network", "cosmoflow32"]
            self.refused(code, parts, "cosmo-train", "--data", self.data, *network, *output, *words,
                         counts_of_ranks=(1,))

        training(CONFIG, ["--dropout 0.5", "no dropout layers"], "--dropout", 0.5)
        training(CONFIG, ["probability 1", "--dropout"], "--network", "mlperf", "--dropout", 1)
        training(USAGE, ["--momentum", "--optimizer sgd"], "--momentum", 0.5)
        training(USAGE, ["--larc", "--optimizer larc-adam"], "--optimizer", "sgd", "--larc", "off")
        training(CONFIG, ["--momentum", "below 1"], "--optimizer", "sgd", "--momentum", 1)
        training(USAGE, ["1 epochs and 0 factors"], "--decay-at", 3)
        training(CONFIG, ["--decay-at"], "--decay-at", "5,3", "--decay-by", "0.5,0.25")
        training(CONFIG, ["--decay-at 1,1e+300 does not rise between 0 and 1000000"], "--decay-at", "1,1e300",
                 "--decay-by", "0.5,0.25")
        training(CONFIG, ["--decay-at", "a step apart"], "--decay-at", "1,1.1", "--decay-by", "0.5,0.25")
        training(CONFIG, ["--decay-by 2 is not above 0 and at most 1"], "--decay-at", 1, "--decay-by", 2)
        for epochs in ("-1", "5.5", "99999999999", "1e+300"):
            training(CONFIG, [f"--warmup-epochs {epochs} is not between 0 and the 5 of --epochs"], "--warmup-epochs",
                     epochs, "--epochs", 5)
        self.refused(USAGE, ["nosuchnet", "--network"], "cosmo-train", *self.train_words()[:2], *output, "--network", "nosuchnet")
        self.refused(USAGE, ["--split"], "cosmo-infer", *self.infer_words(), *output, "--split", "exam")
        self.assertFalse((self.root / "never").exists())

    def test_more_ranks_than_planes(self):
        done = run("cosmo-sim", "generate", "--particles", 4, "--output", self.root / "never", ranks=5)
        self.assertEqual(done.returncode, CONFIG)
        self.assertIn("--particles is 4", error_line(done, "cosmo-sim"))

    def test_tables_of_the_spectrum(self):
        table = self.root / "pk.dat"
        words = ["cosmo-sim", "generate", "--particles", 32, "--box", 128, "--output", self.root / "never", "--transfer",
                 table]
        one = {"counts_of_ranks": (1,)}
        self.refused(IO, [table, "eisenstein-hu"], *words, **one)
        eisenstein_hu.write_power(table, rows=100, high=1.2)
        self.refused(CONFIG, [table, "ends at k = 1.2", "32 particles per side need it to 1.36"], *words)
        eisenstein_hu.write_power(table, rows=100, low=0.05)
        self.refused(CONFIG, [table, "begins at k = 0.05", "0.0490"], *words, **one)
        eisenstein_hu.write_power(table, rows=100, amplitude=1e9)
        self.refused(FORMAT, [table, "sigma_8 = 15.7"], *words, **one)
        eisenstein_hu.write_power(table, rows=100)
        for name, value in (("n-s", "0.9:1.0"), ("omega-m", "0.2:0.4"), ("h", "0.6:0.8"), ("omega-b", "0.04:0.05")):
            self.refused(CONFIG, [f"--{name} varies and --transfer {table}"], *words, f"--{name}", value, **one)
        text = table.read_text()
        table.write_text(text.replace("1:k (h/Mpc)", "1:k (1/Mpc)"))
        self.refused(FORMAT, [f"{table} line 1", "h/Mpc"], *words, **one)
        table.write_text("# Matter power spectrum P(k) at redshift z=1.00000\n" + text)
        self.refused(FORMAT, [f"{table} line 1", "redshift 1.00000"], *words, **one)
        table.write_text(text + "30 nan\n")
        self.refused(FORMAT, [f"{table} line 102", "nan"], *words)
        self.assertFalse((self.root / "never").exists())

    def test_designs(self):
        design = self.root / "design.csv"
        words = ["cosmo-sim", "generate", "--output", self.root / "never", "--design", design]
        one = {"counts_of_ranks": (1,)}
        self.refused(IO, [design, "sobol"], *words, **one)
        design.write_text("omega_m,seed\n0.3,1\n0.4,1\n")
        self.refused(FORMAT, [f"{design} line 3", "seed 1"], *words)
        design.write_text("omega_m\n0.3\n3\n")
        self.refused(CONFIG, [f"{design} line 3", "omega_m is 3"], *words, **one)
        design.write_text("omega_m\n0.3\n0.4\n")
        for more, parts in ((["--simulations", 3], ["--simulations is 3", "2 universes"]),
                            (["--omega-m", "0.2:0.4"], ["--omega-m is a range", design]),
                            (["--h", "0.6:0.8"], ["--h is a range", design]),
                            (["--omega-m", "0.3"], ["--omega-m is given", "column omega_m"])):
            self.refused(CONFIG, parts, *words, *more, **one)
        self.assertFalse((self.root / "never").exists())


class Directories(Refusing):
    """Things in the place of an output."""

    def test_a_damaged_manifest_of_ones_own(self):
        data = self.copy(self.data, "torn")
        (data / "manifest.json").write_text("")
        for force in ([], ["--force"]):
            self.refused(FORMAT, [data, "remove the directory"], "cosmo-prep", *self.prep_words(), "--output", data,
                         *force)

    def test_a_rerun_of_prep_writes_an_altered_manifest_again(self):
        data = self.copy(self.data, "repaired")
        manifest = data / "manifest.json"
        whole = manifest.read_text()
        for ours, altered in (('"id": "sha256:', '"id": "sha256:0'), ('"validation": 2', '"validation": 3')):
            self.assertIn(ours, whole)
            manifest.write_text(whole.replace(ours, altered, 1))
            self.assertFalse(succeed("cosmo-prep", *self.prep_words(), "--output", data)["up_to_date"])
            self.assertEqual(manifest.read_text(), whole)

    def test_directories_and_files_in_the_place_of_each_other(self):
        words = ["cosmo-sim", "generate", "--simulations", 2, "--particles", 16, "--steps", 1, "--output"]
        for name, code in (("manifest.json", IO), ("journal.jsonl", FORMAT)):
            output = self.root / f"directory-{name}"
            (output / name).mkdir(parents=True)
            self.refused(code, [output / name, "is damaged: remove the directory"], *words, output)
        self.refused(IO, ["manifest.json"], "cosmo-prep", "verify", self.root / "directory-manifest.json")
        for name, parts in (("sim-00001", ["remove what is in its place"]),
                            ("sim-00001/counts_z0.h5", ["is a directory", "remove it"])):
            output = self.root / f"in-the-way-{len(name)}"
            succeed(*words, output, "--select", "0:1")
            if name.endswith(".h5"):
                (output / name).mkdir(parents=True)
            else:
                (output / name).write_text("")
            self.refused(IO, [output / name, *parts], *words, output, "--ranks-per-simulation", 1)
            self.assertEqual(list(output.rglob("*.part")), [])

    def test_a_damaged_journal(self):
        output = self.root / "unfinished"
        words = ["cosmo-sim", "generate", "--simulations", 3, "--particles", 16, "--steps", 1, "--output", output]
        succeed(*words, "--select", "0:2")
        journal = output / "journal.jsonl"
        whole = journal.read_text()
        for text in ("", "{}\n", whole[whole.index("\n") + 1:]):
            journal.write_text(text)
            for force in ([], ["--force"]):
                self.refused(FORMAT, [f"{journal} is damaged: remove the directory or choose another --output."], *words,
                             *force)
        journal.write_text(whole + "{}\n[1]\n")  # which are not records
        self.assertEqual(succeed(*words)["simulations_made"], 1)

    def test_a_refused_directory_is_not_touched(self):
        inside = self.sim / "sim-00001"
        before = sorted(inside.iterdir())
        self.refused(CONFIG, [inside], "cosmo-sim", *self.sim_words(), "--output", inside)
        self.assertEqual(sorted(inside.iterdir()), before)

    def test_the_output_directory_of_another_run(self):
        for tool, words, output, key in (
                ("cosmo-sim", [*self.sim_words(), "--seed", 2], self.sim, "seed"),
                ("cosmo-prep", [*self.prep_words(), "--seed", 2], self.data, "seed"),
                ("cosmo-train", [*self.train_words(), "--epochs", 1, "--loss", "mae"], self.model, "loss"),
                ("cosmo-infer", [*self.infer_words(), "--split", "train"], self.predictions, "split")):
            self.refused(CONFIG, [output, f"{key} is ", "--force"], tool, *words, "--output", output)
        for force in ([], ["--force"]):
            self.refused(CONFIG, [self.sim, "input"], "cosmo-prep", *self.prep_words(), "--output", self.sim, *force)
            self.refused(CONFIG, [self.model, "stage"], "cosmo-prep", *self.prep_words(), "--output", self.model, *force)

    def test_someone_elses_directory(self):
        thesis = self.root / "thesis"
        thesis.mkdir()
        (thesis / "thesis.tex").write_text("years of work")
        self.refused(CONFIG, [thesis], "cosmo-sim", *self.sim_words(), "--output", thesis, "--force")
        self.assertEqual((thesis / "thesis.tex").read_text(), "years of work")


class Inputs(Refusing):
    """Inputs that are missing, damaged or of another kind."""

    def test_a_damaged_universe(self):
        suite = self.copy(self.sim, "damaged")
        counts = suite / "sim-00002/counts_z0.h5"
        content = bytearray(counts.read_bytes())
        content[1310] ^= 64  # in the metadata, where HDF5 1.10.8 may crash
        counts.write_bytes(content)
        self.refused(FORMAT, [counts.name], "cosmo-infer", "--model", self.model, "--input", counts)
        self.refused(CONFIG, [suite, "is a suite"], "cosmo-infer", "--model", self.model, "--input", suite)

    def test_missing_inputs(self):
        absent, output = self.root / "absent", ["--output", self.root / "never"]
        self.refused(USAGE, ["--output"], "cosmo-sim", "generate")
        self.refused(USAGE, ["--data"], "cosmo-train", *output)
        self.refused(USAGE, ["--model"], "cosmo-infer", "--data", self.data, *output)
        self.refused(IO, [absent], "cosmo-prep", "shard", "--input", absent, *output)
        self.refused(IO, [absent], "cosmo-prep", "verify", absent)
        self.refused(IO, [absent], "cosmo-train", "--data", absent, *output)
        self.refused(IO, [absent], "cosmo-infer", "--model", absent, "--data", self.data, *output)
        self.refused(IO, [absent], "cosmo-infer", "--model", self.model, "--input", absent)
        self.refused(IO, [absent], "cosmo-sim", "generate", "--config", absent, *output)
        self.assertFalse((self.root / "never").exists())

    def test_a_directory_of_another_stage(self):
        output = ["--output", self.root / "never"]
        self.refused(FORMAT, [self.data, "generate"], "cosmo-prep", "shard", "--input", self.data, *output)
        self.refused(FORMAT, [self.sim, "shard"], "cosmo-train", "--data", self.sim, *output)

    def test_truncated_and_altered_files(self):
        data = self.copy(self.data, "truncated")
        shard = data / "train/shard-00001.h5"
        with shard.open("r+b") as file:
            file.truncate(shard.stat().st_size - 1000)
        output = ["--output", self.root / "never"]
        self.refused(FORMAT, [shard], "cosmo-prep", "verify", data)
        self.refused(FORMAT, [shard], "cosmo-train", "--data", data, "--network", "cosmoflow32", *output)
        self.refused(FORMAT, [shard], "cosmo-infer", "--model", self.model, "--data", data, *output)
        shard.unlink()
        self.refused(FORMAT, [shard], "cosmo-prep", "verify", data)

    def test_a_flipped_bit_is_found_by_verify_and_by_the_reader(self):
        data = self.copy(self.data, "flipped")
        shard = data / "train/shard-00000.h5"
        content = bytearray(shard.read_bytes())
        content[len(content) // 2] ^= 4
        shard.write_bytes(content)
        self.refused(FORMAT, [shard], "cosmo-prep", "verify", data)
        self.refused(FORMAT, [shard], "cosmo-train", "--data", data, "--network", "cosmoflow32", "--output",
                     self.root / "never2")

    def test_an_altered_manifest(self):
        data = self.copy(self.data, "altered")
        manifest = data / "manifest.json"
        manifest.write_text(manifest.read_text().replace('"subvolumes": 2', '"subvolumes": 4'))
        self.refused(FORMAT, [manifest], "cosmo-prep", "verify", data)
        manifest.write_text(manifest.read_text()[:-20])
        self.refused(FORMAT, [manifest], "cosmo-prep", "verify", data)

    def test_a_dataset_that_does_not_fit_the_model(self):
        output = ["--output", self.root / "never"]
        self.refused(CONFIG, ["conv"], "cosmo-train", "--data", self.data, "--network", "cosmoflow", *output)
        whole, coarse, coarse_data = self.root / "whole", self.root / "coarse", self.root / "coarse_data"
        succeed("cosmo-prep", *self.prep_words(), "--subvolumes", 1, "--output", whole)
        self.refused(CONFIG, [whole], "cosmo-infer", "--model", self.model, "--data", whole, *output)
        words = [word if word != 128 else 256 for word in self.sim_words()]  # twice the voxel size
        succeed("cosmo-sim", *words, "--output", coarse)
        succeed("cosmo-prep", "shard", "--input", coarse, "--output", coarse_data)
        self.refused(CONFIG, [coarse_data, "Mpc/h"], "cosmo-infer", "--model", self.model, "--data", coarse_data,
                     *output)
        self.refused(CONFIG, ["counts_z0.h5", "Mpc/h"], "cosmo-infer", "--model", self.model, "--input",
                     coarse / "sim-00000/counts_z0.h5")


if __name__ == "__main__":
    unittest.main()
