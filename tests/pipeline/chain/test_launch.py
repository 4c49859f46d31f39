"""Processes that a launcher started and MPI does not know of, and many that start while others end."""

import concurrent.futures
import os
import shlex
import subprocess
import unittest

from toolkit import BIN, ENVIRONMENT, DirectoryTest, command, error_line

GENERATE = ["generate", "--particles", "8", "--grid", "8", "--box", "64", "--steps", "2"]


class Launch(DirectoryTest):
    def start(self, number, **variables):
        return subprocess.run([BIN / "cosmo-sim", *GENERATE, "--output", self.root / f"o{number}"], env=ENVIRONMENT | variables,
                              capture_output=True, text=True, timeout=60)

    def test_tasks_that_mpi_does_not_know_of_are_refused(self):
        for i, variables in enumerate(({"SLURM_NTASKS": "2"}, {"SLURM_NTASKS": "2", "ENVIRONMENT": "BATCH", "SLURM_STEP_NUM_TASKS": "2"},
                                       {"PMI_SIZE": "2", "PMI_RANK": "0"})):
            done = self.start(f"task{i}", SLURM_JOB_ID="77", SLURM_PROCID="0", **variables)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn("has started 2 processes", error_line(done, "cosmo-sim"))
            done = self.start(f"task{i}", SLURM_JOB_ID="77", SLURM_PROCID="1", **variables)
            self.assertEqual(done.returncode, 3)
            self.assertFalse((self.root / f"otask{i}").exists())

    def test_a_batch_script_and_mpirun_within_it_are_not(self):
        job = {"SLURM_JOB_ID": "77", "SLURM_NTASKS": "2", "SLURM_PROCID": "0", "ENVIRONMENT": "BATCH"}
        self.assertEqual(self.start("script", **job).returncode, 0)
        done = subprocess.run(command(2, "cosmo-sim", *GENERATE, "--output", self.root / "mpirun"), env=ENVIRONMENT | job,
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_limits_that_are_too_low_for_mpi_are_named(self):
        for limit, ranks, words in (("-s 64", 1, "stack is limited to 65536 bytes"), ("-n 10", 1, "may open 10 files"),
                                    ("-f 4000", 2, "files are limited to 4096000 bytes")):
            start = shlex.join(command(ranks, "cosmo-sim", *GENERATE, "--output", self.root / "limited"))
            done = subprocess.run(["bash", "-c", f"ulimit {limit}; {start}"], env=ENVIRONMENT, capture_output=True, text=True,
                                  timeout=60)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn(words, error_line(done, "cosmo-sim"))

    @unittest.skipIf(os.getuid() != 0, "it takes root to be another user")
    def test_an_unknown_user_without_a_home(self):
        """As in containers, without the settings of pipelines/mpi.env."""
        environment = {"PATH": ENVIRONMENT["PATH"]}
        done = subprocess.run(["setpriv", "--reuid", "4242", "--clear-groups", BIN / "cosmo-sim", *GENERATE, "--output", "/nowhere",
                               "--dry-run"], env=environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("PMIX", done.stderr)

    def test_starts_do_not_disturb_ends(self):
        with concurrent.futures.ThreadPoolExecutor(4) as threads:
            for done in threads.map(self.start, range(32)):
                self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
