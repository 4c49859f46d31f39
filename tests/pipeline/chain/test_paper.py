"""The paper's campaign with its own settings made small: on this machine, under a stand-in for Slurm, stopped, and estimated."""

import importlib.util
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import time
import unittest
import unittest.mock

from toolkit import BIN, ENVIRONMENT, ROOT, DirectoryTest, contents, small_settings, succeed, times

PAPER = ROOT / "pipelines/paper"
FULL = PAPER / "full"
SMALLER = {"sim.ini": {"simulations": 30, "box": 128, "particles": 32, "mesh": 64, "grid": 64},
           "prep.ini": {"validation": 3, "test": 4}, "train.ini": {"network": "cosmoflow32"}}
CLUSTER = """
trainings="8 16"
train_8="$train --global-batch 8 --epochs 2"
train_16="$train --global-batch 16 --epochs 1"
nodes=1 train_nodes=1 cores=1 sim_ranks=1 shard_ranks=1 train_ranks=1 slices=3 slurm="" stage=
"""


class PaperTest(DirectoryTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.settings = cls.root / "settings"
        small_settings(FULL, SMALLER, cls.settings)
        (cls.settings / "campaign.env").write_text((FULL / "campaign.env").read_text() + CLUSTER)

    @staticmethod
    def words(*words):
        return ["bash", str(PAPER / "run.sh"), *map(str, words)]

    @classmethod
    def run_script(cls, *words, code=0, **environment):
        done = subprocess.run(cls.words(*words), env=dict(ENVIRONMENT, **{"PATH": f"{BIN}:{ENVIRONMENT['PATH']}", **environment}), capture_output=True,
                              text=True, timeout=600)
        assert done.returncode == code, f"exit {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def setting(self, name, text):
        """Settings with more lines in campaign.env."""
        directory = self.root / name
        directory.mkdir()
        for path in self.settings.iterdir():
            (directory / path.name).write_text(path.read_text() + text * (path.name == "campaign.env"))
        return directory


class Rounds(PaperTest):
    """How many universes are made one after another, and by how many ranks each."""

    def test_rounds(self):
        spec = importlib.util.spec_from_file_location("estimate", PAPER / "estimate.py")
        estimate = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(estimate)
        sim = (self.settings / "sim.ini").read_text()
        for universes, pack, slices, sim_nodes, sim_ranks, nodes, fits, expected in (
                (12632, 0, 632, 1, 8, 64, 1, (30, 1)),   # ten jobs of a node, each of twenty universes on eight ranks
                (90, 10, 1, 1, 8, 1, 1, (20, 1)),        # nine packs on eight ranks
                (64, 0, 4, 2, 4, 3, 1, (4 * 2, 1)),      # one job of two nodes at a time
                (8, 0, 632, 1, 4, 1, 1, (8, 4)),         # a universe for all ranks
                (30, 0, 3, 1, 8, 1, 4, (3 * 5, 4)), (15, 7, 2, 1, 1, 1, 1, (2 * 2 * 7, 1))):
            (self.settings / "sim.ini").write_text(f"{sim}\nsimulations = {universes}\npack = {pack}\n")
            cluster = {"nodes": nodes, "train_nodes": nodes, "cores": 8, "slices": slices, "trainings": "one", "train_one": "--global-batch 192",
                       "sim_nodes": sim_nodes, "sim_ranks": sim_ranks, "shard_nodes": 1, **{f"{stage}_ranks": 1 for stage in ("shard", "train", "infer")}}
            with unittest.mock.patch.dict(os.environ, {name: str(value) for name, value in cluster.items()}):
                self.assertEqual(estimate.Campaign(self.settings, None).rounds(fits), expected)


class Campaign(PaperTest):
    LABELS = ("slow",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.out = cls.root / "out"
        before = cls.processor_seconds()
        cls.run_script("--here", cls.out, cls.settings)
        cls.seconds = cls.processor_seconds() - before

    @staticmethod
    def processor_seconds():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    @staticmethod
    def products(out):
        """What does not depend on when it was made."""
        return {stage: contents(out / stage) for stage in ("sim", "data", "model")}

    def test_the_estimate_is_that_of_the_campaign(self):
        found = json.loads(self.run_script("--estimate", "--json", self.root / "estimated", self.setting("staged", "stage=/local\n")).stdout)
        self.assertFalse((self.root / "estimated").exists())
        # Copies of the shards of training and validation.
        self.assertAlmostEqual(found["disk of each node's /local"] / found["disk of shards"], 26 / 30, places=3)
        paths = [self.out, *self.out.rglob("*")]
        self.assertEqual(found["inodes"], len(paths))
        used = {stage: sum(path.stat().st_size for path in (self.out / stage).rglob("*") if path.is_file()) / 1e9
                for stage in ("sim", "data", "model", "predictions")}
        self.assertAlmostEqual(found["disk of simulations"] / used["sim"], 1, delta=0.03)
        self.assertAlmostEqual(found["disk of shards"] / used["data"], 1, delta=0.03)
        self.assertAlmostEqual(found["disk"] / sum(used.values()), 1, delta=0.03)
        # Not a timing: that seconds, hours and numbers of universes are not confused.
        self.assertTrue(0.25 < found["all"] * 3600 / self.seconds < 4, (found["all"] * 3600, self.seconds))

        self.assert_packs_are_counted(found)

    def assert_packs_are_counted(self, unpacked):
        packed, suite = self.setting("packed", ""), self.root / "packed-suite"
        with open(packed / "sim.ini", "a") as file:
            file.write("pack = 7\n")
        found = json.loads(self.run_script("--estimate", "--json", self.root / "estimated", packed).stdout)
        succeed("cosmo-sim", "generate", "--config", packed / "sim.ini", "--output", suite)
        files, before = ([path for path in directory.rglob("*")] for directory in (suite, self.out / "sim"))
        self.assertEqual(found["inodes"] - unpacked["inodes"], len(files) - len(before))
        used = sum(path.stat().st_size for path in files if path.is_file()) / 1e9
        self.assertAlmostEqual(found["disk of simulations"] / used, 1, delta=0.03)

    def test_both_campaigns_can_be_run(self):
        for directory in PAPER, FULL:
            found = succeed("cosmo-sim", "generate", "--config", directory / "sim.ini", "--output", self.root / "never", "--dry-run")
            self.assertEqual(found["refusals"] if directory == PAPER else [], [])
            names = [set(re.findall(r"(?m)^(\w+)=", (path / "campaign.env").read_text())) for path in (directory, FULL)]
            self.assertEqual(*[{name for name in all_of if not name.startswith("train_")} for all_of in names])

    def test_both_trainings_end_in_predictions(self):
        for name, epochs, batch in ("8", 2, 8), ("16", 1, 16):
            model = json.loads((self.out / f"model/{name}/manifest.json").read_text())
            self.assertEqual((model["complete"], model["config"]["epochs"], model["config"]["global_batch"]), (True, epochs, batch))
            self.assertEqual(model["config"]["optimizer"], "larc-adam")
            self.assertEqual(json.loads((self.out / f"predictions/{name}/manifest.json").read_text())["config"]["split"], "test")

    def test_the_same_command_makes_nothing_again(self):
        before = times(self.out)
        self.run_script("--here", self.out, self.settings)
        self.assertEqual(times(self.out), before)

    def test_killed_in_two_stages(self):
        """Among the universes, and in the second training."""
        out = self.root / "killed"
        for there in ("sim/sim-00003", "model/16"):
            process = subprocess.Popen(self.words("--here", out, self.settings), env=dict(ENVIRONMENT, PATH=f"{BIN}:{ENVIRONMENT['PATH']}"),
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
            deadline = time.monotonic() + 300
            while not (out / there).exists():
                self.assertIsNone(process.poll())
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self.run_script("--here", out, self.settings)
        self.assertEqual(self.products(out), self.products(self.out))


class InSlurm(PaperTest):
    LABELS = ("slow",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.programs = cls.root / "programs"
        cls.programs.mkdir()
        for program in ("sbatch", "srun", "scontrol", "squeue"):
            (cls.programs / program).symlink_to(ROOT / "tests/pipeline/support/fake_slurm.py")

    def test_the_jobs(self):
        state, out = self.root / "slurm", self.root / "out"
        state.mkdir()
        slurm = {"FAKE_SLURM": str(state), "PATH": f"{self.programs}:{BIN}:{ENVIRONMENT['PATH']}"}
        printed = self.run_script(out, self.settings, **slurm).stdout
        ids = dict(line.split() for line in printed.splitlines())
        self.assertEqual(list(ids), ["sim", "shard", "train-8", "infer-8", "train-16", "infer-16"])
        calls = [json.loads(line) for line in (state / "calls.jsonl").read_text().splitlines()]
        jobs = [call for call in calls if call["program"] == "sbatch"]
        self.assertEqual([job["options"].get("--dependency") for job in jobs],
                         [None, *(f"afterok:{ids[name]}" for name in ("sim", "shard", "train-8", "shard", "train-16"))])
        self.assertEqual(jobs[0]["options"]["--array"], "0-2")
        self.assertEqual({call["exit"] for call in calls if call["program"] == "end"}, {0})
        slices = [call["words"][call["words"].index("--select") + 1] for call in calls if call.get("tool") == "cosmo-sim"]
        self.assertEqual(slices, ["0:10", "10:20", "20:30"])
        for name in ("8", "16"):
            self.assertTrue((out / f"predictions/{name}/report.html").exists())
        before = times(out / "model")
        (state / "queue").write_text(f"{ids['train-8']}\n")
        refused = self.run_script(out, self.settings, code=4, **slurm).stderr
        self.assertEqual(refused, f"run.sh: the jobs of {out} are in the queue already ({ids['train-8']}): wait for them, or cancel them first.\n")
        (state / "queue").unlink()
        self.run_script(out, self.settings, **slurm)
        self.assertEqual(times(out / "model"), before)


class RefusalTest(PaperTest):
    def refused(self, code, sentence, *words):
        done = self.run_script(*words, code=code)
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn(sentence, done.stderr)


class Refusals(RefusalTest):
    """What is refused before anything is measured."""

    def test_words(self):
        for words in ((), ("a", "b", "c"), ("--nodes", "2", "a"), ("--estimate", "--nodes"), ("--json", "a"), ("--such", "a")):
            self.refused(2, "Usage: run.sh ", *words)
        self.refused(4, "nowhere/sim.ini cannot be read", self.root / "out", self.root / "nowhere")

    def test_settings(self):
        out = self.root / "out"
        for nodes in 0, -1:
            self.refused(3, f"--nodes is {nodes}: give at least 1", "--estimate", "--nodes", nodes, out, self.settings)
        for nodes in 3, 9:
            self.refused(3, f"the 8 samples of a step of the training 8 must be a multiple of the {nodes} ranks of {nodes} nodes",
                         "--estimate", "--nodes", nodes, out, self.settings)
        for name, text, code, sentence in (
                ("memory", "memory=0", 3, "GB on a node of 0 GB"), ("disk", "disk=0", 4, "GB of disk, and there are 0:"),
                ("nodes", "nodes=", 3, "nodes is '' in campaign.env: give a whole number"),
                ("cores", "cores=many", 3, "cores is 'many' in campaign.env: give a whole number")):
            self.refused(code, sentence, "--estimate", out, self.setting(name, text + "\n"))
        wide = self.setting("wide", "trainings=16 train_ranks=2\n")
        self.refused(3, "train_ranks is 2 on nodes of 1 cores", "--estimate", out, wide)
        for line, sentence in (("simulations = none", "simulations is none in "), ("mesh = 64:96", "mesh is 64:96 in ")):
            other = self.setting(line[:4], "")
            with open(other / "sim.ini", "a") as file:
                file.write(f"{line}\n")
            self.refused(3, sentence, "--estimate", out, other)
        self.refused(3, "trainings is empty", "--estimate", out, self.setting("no", "trainings=\n"))
        self.refused(3, "the training 8 has no --global-batch", "--estimate", out, self.setting("batch", "trainings=8 train_8=$train\n"))
        self.assertFalse(out.exists())


class RefusalsOfMeasured(RefusalTest):
    LABELS = ("slow",)

    def test_a_training_that_does_not_fit_a_node(self):
        """A universe does."""
        many = self.setting("many", "trainings=32 train_32='--global-batch 32' train_ranks=32 cores=32 memory=1\n")
        self.refused(3, "32 ranks of train need", "--estimate", self.root / "out", many)

    def test_a_tool_that_refuses(self):
        """Its sentence and its exit code."""
        wrong = self.setting("wrong", "")
        (wrong / "train.ini").write_text("recipe = paper\nnetwork = none\n")
        self.refused(2, "a short run failed: cosmo-train: error: ", "--estimate", self.root / "out", wrong)
        self.assertFalse((self.root / "out").exists())


if __name__ == "__main__":
    unittest.main()
