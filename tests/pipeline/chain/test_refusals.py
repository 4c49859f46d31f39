"""Refusals of whole processes: what happens before MPI starts, and what depends on how many ranks there are. All others are in tests/stages."""

import re
import unittest

from toolkit import PipelineTest, error_line, options_in, run, succeed

USAGE, CONFIG, IO, FORMAT = 2, 3, 4, 5
TOOLS = {"cosmo-sim": ["generate"], "cosmo-prep": ["shard"], "cosmo-train": [], "cosmo-infer": []}


class Refusals(PipelineTest):
    def refused(self, code, parts, tool, *words):
        """Checks exit code and sentence, which is the same on one rank and on two."""
        sentences = []
        for ranks in (1, 2):
            done = run(tool, *words, ranks=ranks)
            self.assertEqual(done.returncode, code, f"{tool} {words} on {ranks} ranks\n{done.stderr}")
            self.assertEqual(done.stdout, "")
            sentences.append(error_line(done, tool))
            for part in parts:
                self.assertIn(str(part), sentences[-1])
        self.assertEqual(len(set(sentences)), 1)

    def test_options_before_mpi_starts(self):
        never = ["--output", self.root / "never"]
        for tool, words in TOOLS.items():
            self.refused(USAGE, ["--omega-q"], tool, *words, "--omega-q", 3)
        self.refused(CONFIG, ["--peer-timeout"], "cosmo-sim", "generate", *never, "--peer-timeout", "-1")
        self.refused(USAGE, ["--output", "UTF-8"], "cosmo-sim", "generate", "--output", b"bad\xff".decode("utf8", "surrogateescape"))

    def test_values_after_it(self):
        self.refused(CONFIG, ["--mesh is 3"], "cosmo-sim", "generate", "--output", self.root / "never", "--mesh", "3")
        self.refused(IO, ["absent"], "cosmo-prep", "verify", self.root / "absent")
        self.refused(FORMAT, [self.sim, "shard"], "cosmo-train", "--data", self.sim, "--output", self.root / "never")
        self.assertFalse((self.root / "never").exists())

    def test_files_that_crash_hdf5(self):
        succeed("cosmo-train", *self.train_words(), "--epochs", 1, "--output", self.root / "model")
        counts = self.root / "damaged.h5"
        content = bytearray((self.sim / "sim-00002/counts_z0.h5").read_bytes())
        content[1310] ^= 64  # in the metadata, where HDF5 1.10.8 may crash
        counts.write_bytes(content)
        self.refused(FORMAT, [counts.name], "cosmo-infer", "--model", self.root / "model", "--input", counts)

    def test_numbers_of_ranks(self):
        def refused(ranks, sentence, tool, *words):
            done = run(tool, *words, "--output", self.root / "never", ranks=ranks)
            self.assertEqual(done.returncode, CONFIG)
            self.assertIn(sentence, error_line(done, tool))

        refused(5, "--particles is 4", "cosmo-sim", "generate", "--particles", 4)
        for ranks, batch, sentence in ((3, 16, "--global-batch 16 must be a multiple of the 3 ranks: give 15 or 18,"),
                                       (3, 2, "--global-batch 2 must be a multiple of the 3 ranks: give 3,"),
                                       (5, 2**20, f"training samples of {self.data}: give at most 45.")):
            refused(ranks, sentence, "cosmo-train", "--data", self.data, "--network", "cosmoflow32", "--global-batch", batch)

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
            for text in (help_text.stdout, run(tool, "--help").stdout):
                self.assertLessEqual(max(map(len, text.splitlines())), 80)
            version = run(tool, "--version")
            self.assertEqual(version.returncode, 0)
            self.assertRegex(version.stdout, rf"^{tool} \d+\.\d+\.\d+ \(\S+; (Release|Debug), \w+ [\d.]+, ")
            if re.search(r"GNU 12\.[0-3]\.", version.stdout):
                self.assertIn("-mmove-max=128 -mstore-max=128", version.stdout)

    def test_help_begins_with_the_options_of_every_day_and_ends_with_those_for_experts(self):
        for tool, *words in (["cosmo-sim", "generate"], ["cosmo-prep", "shard"], ["cosmo-prep", "import"], ["cosmo-train"]):
            groups = re.findall(r"(?m)^(\w[^:\n]*):\n((?:  .*\n)+)", run(tool, *words, "--help").stdout)
            titles = [title for title, _ in groups if title != "Example"]
            self.assertEqual((titles[0], titles[-1]), ("Every day", "For experts"), titles)
            self.assertLessEqual(len(options_in(groups[0][1])), 12)


if __name__ == "__main__":
    unittest.main()
