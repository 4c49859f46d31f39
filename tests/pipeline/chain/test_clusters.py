"""The job scripts of pipelines/slurm, run by a stand-in for Slurm (fake_slurm.py), and the Snakefile on this machine, both at their
smallest size; test_slurm.py runs them in a real Slurm."""

import json
import mmap
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from clusters import PIPELINES, STAGES, products, run_unbroken, small, submit, write_settings
from toolkit import ENVIRONMENT, ROOT, STOPPED, DirectoryTest, times

SLURM = PIPELINES / "slurm"
JOBS = ("sim", "shard", "train", "infer")


class Settings(unittest.TestCase):
    def test_shell(self):
        scripts = sorted(SLURM.glob("*.sbatch"))
        self.assertEqual({path.stem for path in scripts}, set(JOBS))
        for path in (*scripts, SLURM / "settings.env"):
            done = subprocess.run(["bash", "-n", path], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""), path)

    def test_every_setting_is_used(self):
        """Every setting is used by its name, or by submit.sh as `nodes` and the like of each stage."""
        settings = (SLURM / "settings.env").read_text()
        names = set(re.findall(r"(?m)(?:^|\s)(\w+)=", re.sub(r"#.*|\"[^\"]*\"", "", settings)))
        self.assertGreater(len(names), 24)
        scripts = "".join(path.read_text() for path in (*SLURM.glob("*.sh"), *SLURM.glob("*.sbatch")))
        code = re.sub(r"(?m)(^|\s)#.*", "", scripts)
        for name in names:
            stage, _, kind = name.partition("_")
            self.assertTrue(re.search(rf"\b{name}\b", code) or stage in JOBS and f"{kind}=$1_{kind}" in code, name)

    def test_slices_are_whole_packs(self):
        def slices(simulations, slices, sim):
            said = [subprocess.run(["bash", "-c", f'. "{SLURM}/job.sh"; slice $0; echo $first:$last', str(number)], capture_output=True, text=True,
                                   check=True, env={"simulations": str(simulations), "slices": str(slices), "sim": sim}).stdout.strip()
                    for number in range(slices)]
            return [tuple(map(int, line.split(":"))) if "no universe" not in line else None for line in said]
        self.assertEqual(slices(13, 3, "--box 64"), [(0, 4), (4, 8), (8, 13)])
        self.assertEqual(slices(13, 3, "--pack 4 --box 64"), [(0, 4), (4, 8), (8, 13)])
        self.assertEqual(slices(10, 2, "--pack=4"), [(0, 4), (4, 10)])
        self.assertEqual(slices(5, 3, "--pack 04"), [None, (0, 4), (4, 5)])
        with tempfile.NamedTemporaryFile("w", suffix=".ini") as file:
            print("box = 64\npack = 4", file=file, flush=True)
            self.assertEqual(slices(10, 2, f"--config {file.name}"), [(0, 4), (4, 10)])
            self.assertEqual(slices(10, 2, f"--config {file.name} --pack 5"), [(0, 5), (5, 10)])

    def test_the_snakefile_is_short(self):
        self.assertLessEqual(len((PIPELINES / "Snakefile").read_text().splitlines()), 60)

    def test_usage(self):
        for words, code, said in (([], 2, "Usage: submit.sh SETTINGS [sim] [shard] [train] [infer]\n"), (["--help"], 2, "Usage: "),
                                  (["my.env", "tests"], 2, "Usage: "), (["none.env"], 4, "submit.sh: none.env cannot be read: ")):
            done = subprocess.run(["bash", SLURM / "submit.sh", *words], capture_output=True, text=True)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertTrue(done.stderr.startswith(said) and done.stderr.count("\n") == 1, done.stderr)

    def test_without_slurm(self):
        done = subprocess.run(["/bin/bash", SLURM / "submit.sh", SLURM / "settings.env"], env={"PATH": "/nowhere"}, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr),
                         (4, "submit.sh: sbatch is not on PATH: submit where Slurm is, or use run.sh without it.\n"))


class Scripts(DirectoryTest):
    TRAIN = "--network cosmonet32 --epochs 1 --global-batch 4"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.root / "programs").mkdir()
        for program in ("sbatch", "srun", "scontrol"):
            (cls.root / "programs" / program).symlink_to(ROOT / "tests/pipeline/support/fake_slurm.py")

    def submit(self, name, failures=None, **values):
        """Submits a chain to a Slurm of its own; returns the stages' ids and the calls of Slurm's programs."""
        state = self.root / f"slurm-{name}"
        state.mkdir()
        (state / "failures.json").write_text(json.dumps(failures or {}))
        settings = self.root / f"{name}.env"
        write_settings(settings, **small(self.root / name, **{"train": self.TRAIN, **values}))
        return self.submitted(name)

    def submitted(self, name, *stages):
        state = self.root / f"slurm-{name}"
        ids = submit(self.root / f"{name}.env", *stages,
                     environment=dict(ENVIRONMENT, FAKE_SLURM=str(state), PATH=f"{self.root}/programs:{ENVIRONMENT['PATH']}"))
        return ids, [json.loads(line) for line in (state / "calls.jsonl").read_text().splitlines()]

    @staticmethod
    def called(calls, program, **values):
        return [call for call in calls if call["program"] == program and all(call[name] == value for name, value in values.items())]

    def test_a_chain_whose_jobs_are_stopped(self):
        """The first and last task of the array stop, the last with the array's own number, and the training after each step."""
        left = [pathlib.Path(f"/dev/shm/vader_segment.cosmo-test-{os.getpid()}.{number}") for number in range(3)]
        for segment in left:
            segment.write_bytes(bytes(4096))
            self.addCleanup(segment.unlink, missing_ok=True)
        for segment in left[:2]:
            os.utime(segment, (0, 0))
        used = mmap.mmap(os.open(left[1], os.O_RDWR), 0)
        self.addCleanup(used.close)
        ids, calls = self.submit("stopped", {"cosmo-sim": [STOPPED, None, None, 137]}, train=self.TRAIN + " --time-limit 0",
                                 slurm="--partition=p --account=a", stage=self.root / "a disk", cores=4, train_nodes=3, train_ranks=4)
        self.assertEqual(list(ids), list(JOBS))
        jobs = self.called(calls, "sbatch")
        self.assertEqual([job["script"] for job in jobs], [f"{stage}.sbatch" for stage in JOBS])
        self.assertEqual([job["options"].get("--dependency") for job in jobs],
                         [None] + [f"afterok:{ids[stage]}" for stage in JOBS[:-1]])
        self.assertEqual([job["options"].get("--array") for job in jobs], ["0-2", None, None, None])
        for job in jobs:
            self.assertLessEqual({"--parsable", "--requeue", "--partition", "--account", "--time", "--output"}, set(job["options"]))
            self.assertEqual("--signal" in job["options"], job["script"] != "infer.sbatch")
            self.assertEqual("--kill-on-invalid-dep" in job["options"], job["script"] != "sim.sbatch")
        options = jobs[2]["options"]
        self.assertEqual([options[f"--{name}"] for name in ("nodes", "ntasks-per-node", "cpus-per-task")], ["3", "4", "1"])

        slices = [call["words"][call["words"].index("--select") + 1] for call in self.called(calls, "srun", tool="cosmo-sim")]
        self.assertEqual(slices, ["0:4", "0:4", "4:8", "8:13", "8:13"])
        requeued = [call["words"] for call in self.called(calls, "scontrol")]
        self.assertEqual(requeued[:2], [["requeue", f"{ids['sim']}_0"], ["requeue", f"{ids['sim']}_2"]])
        self.assertGreater(len(requeued), 4)
        self.assertEqual(requeued[2:], [["requeue", ids["train"]]] * len(requeued[2:]))
        trainings = self.called(calls, "srun", tool="cosmo-train")
        self.assertEqual(len(trainings), len(requeued) - 1)
        for call in trainings:
            self.assertEqual(call["options"], {"--mpi": "pmix", "--kill-on-bad-exit": "1", "--cpus-per-task": "1"})
        empty = [call for call in self.called(calls, "srun", tool="true") if call["job"] == ids["train"]]
        self.assertEqual(len(empty), sum(range(len(trainings))))  # each run's steps have other numbers
        self.assertEqual([segment.exists() for segment in left], [False, True, True])
        self.assertEqual([call["exit"] for call in self.called(calls, "end")], [0] * 6)
        self.assertEqual(list((self.root / "a disk").iterdir()), [])
        log = (self.root / f"stopped/logs/train-{ids['train']}.log").read_text()
        self.assertEqual(log.count("\nstopped "), len(trainings) - 1, log)

        values = small("", train=self.TRAIN)
        run_unbroken(self.root / "unbroken", values)
        self.assertEqual(products(self.root / "stopped"), products(self.root / "unbroken"))

        # On a scratch that was purged.
        shutil.rmtree(self.root / "stopped/sim")
        ids, calls = self.submitted("stopped", "train", "infer")
        self.assertEqual(list(ids), ["train", "infer"])
        self.assertEqual([job["options"].get("--dependency") for job in self.called(calls, "sbatch")[4:]], [None, f"afterok:{ids['train']}"])
        self.assertEqual([call["exit"] for call in self.called(calls, "end")], [0] * 8)

    def test_an_end_to_restarts(self):
        """A job that is stopped too often has failed, and the next ones do not start."""
        ids, calls = self.submit("restarts", {"cosmo-prep": [STOPPED] * 9}, restarts=2)
        self.assertEqual(len(self.called(calls, "srun", tool="cosmo-prep")), 3)
        ends = {str(call["job"]): call["exit"] for call in self.called(calls, "end")}
        self.assertEqual([ends[ids[stage]] for stage in JOBS], [0, STOPPED, "cancelled", "cancelled"])

    def test_an_error_that_stays(self):
        """It ends the job at once, with the tool's exit code; failures that may pass are tried again."""
        ids, calls = self.submit("wrong", {"cosmo-prep": [4]}, prep="--subvolumes 1 --validation 20")
        self.assertEqual([call["words"] for call in self.called(calls, "scontrol")], [["requeue", ids["shard"]]])
        ends = {str(call["job"]): call["exit"] for call in self.called(calls, "end")}
        self.assertEqual([ends[ids[stage]] for stage in JOBS], [0, 3, "cancelled", "cancelled"])
        self.assertIn("cosmo-prep: error: ", (self.root / f"wrong/logs/shard-{ids['shard']}.log").read_text())


def tool_of(output, name):
    """The process of a tool that works in a directory, or None."""
    for process in pathlib.Path("/proc").iterdir():
        try:
            if process.name.isdigit() and (process / "comm").read_text() == f"{name}\n" and (process / "cwd").samefile(output):
                return int(process.name)
        except OSError:  # it has ended
            pass
    return None


@unittest.skipUnless(shutil.which("snakemake"), "needs snakemake")
class Snakefile(DirectoryTest):
    """The chain on this machine."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.values = small("", train="--network cosmonet32 --epochs 40 --global-batch 4")
        run_unbroken(cls.root / "unbroken", cls.values)
        cls.unbroken = products(cls.root / "unbroken")

    def words(self, name):
        settings = self.root / f"{name}.env"
        write_settings(settings, **{**self.values, "output": self.root / name})
        return ["snakemake", "-s", PIPELINES / "Snakefile", "--cores", "1", "--retries", "3", "--config", f"settings={settings}"]

    def snakemake(self, name, *more):
        done = subprocess.run([*self.words(name), *more], env=ENVIRONMENT, cwd=self.root, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_a_chain_and_again(self):
        output = self.root / "whole"
        self.snakemake("whole")
        self.assertEqual(products(output), self.unbroken)
        self.assertIn("Nothing to be done", self.snakemake("whole"))
        before = {stage: times(output / stage) for stage in STAGES}
        shutil.rmtree(output / "finished")
        self.assertEqual(self.snakemake("whole").count("is up to date\n"), 6)
        self.assertEqual({stage: times(output / stage) for stage in STAGES}, before)
        self.assertIn("Nothing to be done", self.snakemake("whole"))

    def test_a_chain_that_is_stopped(self):
        """The training by SIGUSR1, after which it is run again; then it and Snakemake by SIGKILL, after which Snakemake is."""
        output = self.root / "stopped"
        with open(self.root / "stopped.log", "w") as log:
            process = subprocess.Popen(self.words("stopped"), env=ENVIRONMENT, cwd=self.root, stdout=log, stderr=subprocess.STDOUT)
            first = self.wait_for_training(output, 5)
            os.kill(first, signal.SIGUSR1)
            self.wait_for(lambda: tool_of(output, "cosmo-train") not in (None, first))
            second = self.wait_for_training(output, 20)
            process.kill()
            os.kill(second, signal.SIGKILL)
            process.wait()
        text = (self.root / "stopped.log").read_text()
        self.assertRegex(text, r"(?s)\nstopped as asked .*Trying to restart job .*\ncontinuing after \d+ epoch")
        self.assertRegex(self.snakemake("stopped", "--nolock"), r"\ncontinuing after \d\d epochs")
        self.assertEqual(products(output), self.unbroken)

    def wait_for(self, found):
        deadline = time.monotonic() + 120
        while not (result := found()):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        return result

    def wait_for_training(self, output, epochs):
        """The process of a training that has finished at least `epochs` epochs."""
        self.wait_for(lambda: any(int(path.name[6:12]) >= epochs for path in output.glob("model/checkpoints/epoch-*.h5")))
        return self.wait_for(lambda: tool_of(output, "cosmo-train"))

    def test_a_relative_path(self):
        """Jobs on other nodes, which start in another directory, would not find it."""
        words = [*self.words("relative")[:-1], "settings=relative.env"]
        done = subprocess.run(words, env=ENVIRONMENT, cwd=self.root, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("give an absolute path", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
