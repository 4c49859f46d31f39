"""The job scripts and the Snakefile in a real Slurm of two nodes, started for this: what is killed in the middle goes on, and every
file is that of an unbroken chain without Slurm. Needs root and Debian's slurm-wlm (and snakemake)."""

import json
import pathlib
import re
import shutil
import signal
import subprocess
import time
import unittest

import private_slurm
from clusters import PIPELINES, products, run_unbroken, small, submit, write_settings
from toolkit import ENVIRONMENT, DirectoryTest

SIM = "--omega-m 0.25:0.35 --sigma8 0.78:0.95 --box 256 --particles 64 --grid 32 --steps 30"
TRAIN = "--network cosmonet32 --epochs 80 --global-batch 4"


def has_got(process, number):
    """Whether a signal waits for a process that is stopped, or has ended it."""
    try:
        status = pathlib.Path(f"/proc/{process}/status").read_text()
    except OSError:
        return True
    return bool(int(re.search(r"ShdPnd:\s*(\w+)", status)[1], 16) >> number - 1 & 1)


@unittest.skipUnless(private_slurm.is_there(), "needs root, slurm-wlm and munge")
class InSlurm(DirectoryTest):
    """A Slurm, and an unbroken chain."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # Ranks on two nodes share no memory, unlike those of one machine, for which mpi.env is made.
        environment = {**ENVIRONMENT, "OMPI_MCA_btl": "self,tcp", "OMPI_MCA_btl_tcp_if_include": "lo"}
        cls.start = time.monotonic()
        cls.slurm = private_slurm.PrivateSlurm(cls.root / "slurm", environment)
        cls.values = small("", simulations=24, sim=SIM, train=TRAIN, train_nodes=2, sim_minutes=2, train_minutes=2, stage=cls.root / "stage",
                           slurm="--partition=p --signal=USR1@10")
        run_unbroken(cls.root / "unbroken", cls.values)
        cls.unbroken = products(cls.root / "unbroken")

    @classmethod
    def tearDownClass(cls):
        cls.slurm.stop()
        super().tearDownClass()

    def settings(self, name, **values):
        write_settings(self.root / f"{name}.env", **{**self.values, "output": self.root / name, **values})
        return self.root / f"{name}.env"

    def tell(self, text):
        """Prints a line of the log of what was done to the chain."""
        print(f"{time.monotonic() - self.start:6.1f} s  {text}", flush=True)

    def tell_ids(self, what, ids):
        self.tell(f"{what}: " + ", ".join(f"{stage} {job}" for stage, job in ids.items()))

    def wait_for_universe(self, output, number):
        self.slurm.wait(lambda: (output / f"sim/sim-{number:05}").exists())

    def wait_for_epoch(self, output, epochs):
        """Waits until a training has finished at least `epochs` epochs and its ranks run."""
        self.slurm.wait(lambda: any(int(path.name[6:12]) >= epochs for path in output.glob("model/checkpoints/epoch-*.h5")))
        self.slurm.wait(lambda: len(self.slurm.ranks("cosmo-train")) == 2)

    def wait_for_requeue(self, job, restarts):
        self.slurm.wait(lambda: self.slurm.shown(job, "Restarts") == str(restarts))
        self.tell(f"job {job}: Restarts={restarts}")


class JobScripts(InSlurm):
    LABELS = ("slow",)

    def test_failures(self):
        slurm, output = self.slurm, self.root / "failures"
        settings = self.settings("failures")
        ids = submit(settings, environment=slurm.environment)
        self.tell_ids("submit.sh", ids)
        sim, train = ids["sim"], ids["train"]

        self.wait_for_universe(output, 1)
        slurm.call("scancel", "--signal=USR1", f"{sim}_0")
        self.tell(f"scancel --signal=USR1 {sim}_0, a slice")
        self.wait_for_universe(output, 10)
        slurm.kill_stepd("cosmo-sim", SLURM_ARRAY_TASK_ID=1)
        self.tell(f"slurmstepd of the slice {sim}_1 killed")
        self.wait_for_requeue(f"{sim}_0", 1)
        self.wait_for_requeue(f"{sim}_1", 1)

        self.wait_for_epoch(output, 5)
        slurm.call("scancel", "--signal=USR1", train)
        self.tell(f"scancel --signal=USR1 {train}, the training")
        self.wait_for_requeue(train, 1)
        self.wait_for_epoch(output, 15)
        slurm.kill(*slurm.ranks("cosmo-train", SLURMD_NODENAME="n2"))
        self.tell("the training's rank on n2 killed")
        self.wait_for_requeue(train, 2)
        self.wait_for_epoch(output, 25)
        slurm.kill_node("n2")
        self.tell("node n2 killed: its slurmd, slurmstepd and rank")
        self.wait_for_requeue(train, 3)
        slurm.start_node("n2")
        self.tell("node n2 started")
        self.wait_for_epoch(output, 35)
        slurm.kill_stepd("cosmo-train", SLURMD_NODENAME="n2")
        self.tell("slurmstepd of the training's rank on n2 killed")
        self.wait_for_requeue(train, 4)
        self.wait_for_epoch(output, 45)
        slurm.call("scancel", train)
        self.tell(f"scancel {train}")
        slurm.wait(lambda: not slurm.jobs())
        self.assertEqual([slurm.shown(ids[stage], "JobState") for stage in ("shard", "train", "infer")],
                         ["COMPLETED", "CANCELLED", "CANCELLED"])
        self.assertFalse(json.loads((output / "model/manifest.json").read_text())["complete"])

        ids = submit(settings, environment=slurm.environment)
        self.tell_ids("submit.sh again", ids)
        slurm.wait(lambda: not slurm.jobs())
        self.assertEqual([slurm.shown(job, "JobState") for job in ids.values()], ["COMPLETED"] * 4)
        self.assertEqual(products(output), self.unbroken)
        self.assertIn("continuing after ", (output / f"logs/train-{ids['train']}.log").read_text())
        self.assertFalse((self.root / f"stage/cosmo-{ids['train']}").exists())
        self.tell(f"all jobs completed; {len(self.unbroken[0])} files and 4 ids are those of the unbroken chain")

    def test_time_limits(self):
        """Slurm looks every half a minute which limits are near: the ranks are stopped until its signal is there."""
        slurm, output = self.slurm, self.root / "limits"
        ids = submit(self.settings("limits", slurm="--partition=p --signal=USR1@300"), environment=slurm.environment)
        self.wait_for_epoch(output, 5)
        ranks = slurm.ranks("cosmo-train")
        slurm.kill(*ranks, number=signal.SIGSTOP)
        slurm.wait(lambda: all(has_got(rank, signal.SIGUSR1) for rank in ranks))
        slurm.kill(*ranks, number=signal.SIGCONT)
        slurm.wait(lambda: not slurm.jobs())
        self.assertEqual([slurm.shown(job, "JobState") for job in ids.values()], ["COMPLETED"] * 4)
        self.assertGreater(int(slurm.shown(ids["train"], "Restarts")), 0)
        self.assertEqual(products(output), self.unbroken)


@unittest.skipUnless(shutil.which("snakemake"), "needs snakemake")
class Snakefile(InSlurm):
    LABELS = ("slow",)

    def test_failures(self):
        slurm, output = self.slurm, self.root / "snakemake"
        words = ["snakemake", "-s", PIPELINES / "Snakefile", "--profile", PIPELINES / "slurm", "--config",
                 f"settings={self.settings('snakemake')}"]
        with open(self.root / "snakemake.log", "w") as log:
            process = subprocess.Popen(words, env=slurm.environment, cwd=self.root, stdout=log, stderr=subprocess.STDOUT)
            self.addCleanup(process.kill)
            self.wait_for_universe(output, 1)
            job = slurm.wait(lambda: slurm.job_of("cosmo-sim", "--select", "0:8"))
            slurm.call("scancel", "--signal=USR1", job)
            self.tell(f"snakemake: scancel --signal=USR1 {job}, a slice")
            self.wait_for_epoch(output, 5)
            job = slurm.job_of("cosmo-train")
            slurm.call("scancel", job)
            self.tell(f"snakemake: scancel {job}, the training")
            slurm.wait(lambda: job not in slurm.jobs())
            self.wait_for_epoch(output, 15)
            slurm.kill_node("n2")
            self.tell("snakemake: node n2 of the training killed")
            slurm.wait(lambda: not slurm.ranks("cosmo-train"))
            slurm.start_node("n2")
            self.tell("snakemake: node n2 started")
            self.assertEqual(process.wait(300), 0, (self.root / "snakemake.log").read_text())
        self.assertEqual(products(output), self.unbroken)
        log = (self.root / "snakemake.log").read_text()
        logs = [path.read_text() for path in sorted((output / "logs").iterdir())]
        self.assertEqual(log.count("Trying to restart job"), 3, "\n".join([log, *logs]))
        again = subprocess.run(words, env=slurm.environment, cwd=self.root, capture_output=True, text=True)
        self.assertIn("Nothing to be done", again.stdout + again.stderr)
        self.tell(f"snakemake: done; {len(self.unbroken[0])} files and 4 ids are those of the unbroken chain")


if __name__ == "__main__":
    unittest.main()
