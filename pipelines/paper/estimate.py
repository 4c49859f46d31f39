#!/usr/bin/env python3
"""What the campaign of a settings directory costs, from short runs of the tools on this machine: run.sh --estimate.

A few universes of few particles, with all the voxels of the campaign's, pass through all stages below OUT, and are removed. Their files
have the campaign's sizes; memory, and the disk that a training takes, are what the tools' own --dry-run predicts. Two universes with the campaign's spacing and mesh give the
time a + b M log M of one with M cells; cosmo-train --benchmark gives that of a step.

  estimate.py OUT SETTINGS [--nodes N] [--json]     (run.sh exports the variables of SETTINGS/campaign.env)
"""

import argparse
import json
import math
import os
import pathlib
import resource
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

CELLS = 768      # per side of the largest force mesh that is timed, if the campaign's can be halved to that
TURNS = 3        # runs of each timed universe, whose median counts
SHORT = 384      # per side of the largest mesh that is timed so often; larger ones take long and are timed once
TESTED = 4       # universes of the test split that pass through all stages, with the four that are trained on and one for validation
POSTERIOR = 24   # training and validation universes from which on a model has a posterior, and so two files more: posterior.h5 and its figure
FEATURES = 2048  # training universes whose summary statistics a training measures at most
CONFIG, IO = 3, 4


def refuse(code, sentence):
    print(f"run.sh: {sentence}", file=sys.stderr)
    sys.exit(code)


def read_ini(path):
    lines = (line.partition("#")[0].partition("=") for line in path.read_text(encoding="utf-8").splitlines())
    return {name.strip(): value.strip() for name, sign, value in lines if sign}


def run(*words, stopped=False):
    """(summary, processor seconds, seconds) of a tool; it may stop before its end if `stopped`."""
    def used():
        of = resource.getrusage(resource.RUSAGE_CHILDREN)
        return of.ru_utime + of.ru_stime
    before, start = used(), time.monotonic()
    done = subprocess.run([*map(str, words), "--json", "--quiet"], capture_output=True, text=True)
    if done.returncode not in (0, *[75] * stopped):
        errors = [line for line in done.stderr.splitlines() if "error: " in line] or done.stderr.splitlines()
        refuse(done.returncode, f"a short run failed: {(errors or ['no reason given'])[-1]}")
    return json.loads(done.stdout), used() - before, time.monotonic() - start


def threads_here(wanted):
    """As many threads as are wanted and this machine has cores for."""
    return max(1, min(len(os.sched_getaffinity(0)), wanted))


class Campaign:
    """The settings: universes, samples, trainings, and the cluster."""

    def __init__(self, settings, nodes):
        self.path = {name: settings / f"{name}.ini" for name in ("sim", "prep", "train")}
        self.ini = {name: read_ini(path) for name, path in self.path.items()}
        self.universes = self.setting("sim", "simulations")
        self.pack = self.setting("sim", "pack", 0)
        self.particles = self.setting("sim", "particles", 256)
        self.mesh = self.setting("sim", "mesh", self.particles)
        self.grid = self.setting("sim", "grid", self.particles // 2)
        self.box = self.setting("sim", "box", 512)
        self.cuts = self.setting("prep", "subvolumes", 2) ** 3
        held_out = {name: self.setting("prep", name, max(1, self.universes // 10)) for name in ("validation", "test")}
        self.split = {"train": self.setting("prep", "training", self.universes - sum(held_out.values())), **held_out}
        rolls = 1 + self.setting("prep", "rolls", 0)
        self.samples = {name: self.cuts * number * (rolls if name == "train" else 1) for name, number in self.split.items()}
        self.cluster = os.environ
        self.nodes = self.number("nodes") if nodes is None else nodes
        if self.nodes < 1:
            refuse(CONFIG, f"--nodes is {self.nodes}: give at least 1.")
        for name in ("slices", "sim_nodes", "shard_nodes", "train_nodes"):
            if self.number(name) < 1:
                refuse(CONFIG, f"{name} is {self.number(name)} in campaign.env: give at least 1.")
        self.train_nodes = self.number("train_nodes")
        if self.train_nodes == self.number("nodes"):  # as in the settings that are shipped
            self.train_nodes = self.nodes
        self.cores = self.number("cores")
        for stage in ("sim", "shard", "train", "infer"):
            if not 1 <= self.number(f"{stage}_ranks") <= self.cores:
                refuse(CONFIG, f"{stage}_ranks is {self.number(f'{stage}_ranks')} on nodes of {self.cores} cores: give 1 to {self.cores}.")
        self.trainings = {name: self.training(name) for name in self.cluster["trainings"].split()}
        if not self.trainings:
            refuse(CONFIG, "trainings is empty in campaign.env: name one.")

    def setting(self, stage, name, default=None):
        """A whole number of sim.ini or prep.ini."""
        text = self.ini[stage].get(name, str(default))
        if not text.isdecimal():
            refuse(CONFIG, f"{name} is {text} in {self.path[stage]}: the estimate needs a whole number.")
        return int(text)

    def number(self, name, kind=int):
        text = self.cluster.get(name, "")
        try:
            return kind(text)
        except ValueError:
            refuse(CONFIG, f"{name} is '{text}' in campaign.env: give a {'whole ' * (kind is int)}number.")

    def threads(self, stage):
        """Of a rank."""
        return self.cores // self.number(f"{stage}_ranks")

    def training(self, name):
        """(epochs, samples per step), from its own options or those of all."""
        words = shlex.split(self.cluster.get(f"train_{name}", ""))
        given = {**self.ini["train"], **dict(zip((word[2:] for word in words), words[1:]))}
        if not given.get("global-batch", "").isdecimal():
            refuse(CONFIG, f"the training {name} has no --global-batch: give it in train_{name} or train.ini.")
        batch = int(given["global-batch"])
        if batch % self.train_ranks():
            refuse(CONFIG, f"the {batch} samples of a step of the training {name} must be a multiple of the {self.train_ranks()} ranks of "
                           f"{self.train_nodes} nodes: give other nodes or train_ranks.")
        return int(given.get("epochs", 50)), batch

    def train_ranks(self):
        """On all nodes of a training."""
        return self.train_nodes * self.number("train_ranks")

    def rounds(self, fits):
        """(universes that are made one after another, ranks that share one): the jobs of the slices, of whole packs each, follow each
        other, and a job shares universes among as few of its ranks as have work and memory, at least `fits`, as cosmo-sim does."""
        pack, nodes = max(1, min(self.pack, self.universes)), self.number("sim_nodes")
        packs, ranks = math.ceil(self.universes / pack), nodes * self.number("sim_ranks")
        slices = min(self.number("slices"), packs)
        packs_of_slice = math.ceil(packs / slices)
        shared = next(number for number in range(fits, ranks + 1) if ranks % number == 0 and (ranks // number <= packs_of_slice or number == ranks))
        jobs = math.ceil(slices / max(1, self.nodes // nodes))
        return jobs * math.ceil(packs_of_slice / (ranks // shared)) * pack, shared

    def check_disk(self, needed, free, what="the campaign needs"):
        """Numbers of bytes."""
        available = self.number("disk", float) * 1e9 if self.cluster.get("disk") else free
        if needed > available:
            refuse(IO, f"{what} {needed / 1e9:.4g} GB of disk, and there are {available / 1e9:.4g}: make fewer universes, or choose "
                       "another OUT, or disk in campaign.env.")

    def samples_of_a_rank(self):
        """The most, in a step."""
        return max(batch // self.train_ranks() for _, batch in self.trainings.values())


class Simulations:
    """Memory and disk of the universes, as cosmo-sim predicts them, and the time of one, measured."""

    def __init__(self, campaign, directory):
        self.words = ("cosmo-sim", "generate", "--config", campaign.path["sim"])
        self.shared, self.memory, self.disk = self.fit(campaign, self.words, directory)

    def measure(self, campaign, directory):
        """Times universes on as many threads as one of the campaign has."""
        threads = threads_here(campaign.cores * self.shared // campaign.number("sim_ranks"))
        side = campaign.particles
        while side % 2 == 0 and campaign.mesh * side // campaign.particles > CELLS:
            side //= 2
        self.points = []  # (particles per side, cells per side, processor seconds)
        for number in (side // 2, side):
            def scaled(value, number=number):
                return max(1, round(value * number / campaign.particles))
            few = ["--particles", number, "--mesh", scaled(campaign.mesh), "--grid", scaled(campaign.grid), "--box",
                   campaign.box * number / campaign.particles, "--threads", threads]
            repeats = max(1, min(16, (64 // number) ** 3))
            _, *start = run(*self.words, *few, "--simulations", 1, "--dry-run", "--output", directory / "none")
            turns = [run(*self.words, *few, "--simulations", repeats, "--output", directory / f"timed-{number}-{turn}")[1:]
                     for turn in range(TURNS if scaled(campaign.mesh) <= SHORT else 1)]
            processor, wall = (statistics.median(each) - before for each, before in zip(zip(*turns), start))
            self.points.append((number, scaled(campaign.mesh), processor / repeats))
            # The share of the time in which the threads compute: that of the larger universe is kept.
            self.busy = min(1, max(processor, 1e-3) / (threads * max(wall, 1e-3)))
        (_, low, a), (_, high, b) = self.points
        slope = max(0.0, b - a) / (self.cells(high) - self.cells(low))
        self.seconds = max(a, b + slope * (self.cells(campaign.mesh) - self.cells(high)))

    @staticmethod
    def cells(mesh):
        return mesh ** 3 * math.log2(mesh ** 3)

    @staticmethod
    def fit(campaign, words, directory):
        """(ranks that share a universe, bytes per rank, bytes on disk): the fewest ranks that a node's memory permits."""
        ranks, available = campaign.number("sim_ranks"), campaign.number("memory", float) * 1e9
        for shared in (divisor for divisor in range(1, ranks + 1) if ranks % divisor == 0):
            mpirun = ["mpirun", "-n", shared, "--bind-to", "none"] if shared > 1 else []
            found, _, _ = run(*mpirun, *words, "--threads", campaign.threads("sim"), "--ranks-per-simulation", shared, "--dry-run", "--output", directory / "none")
            if ranks * found["memory_bytes_per_rank"] <= available:
                return shared, found["memory_bytes_per_rank"], found["disk_bytes"]
        refuse(CONFIG, f"a universe needs {ranks * found['memory_bytes_per_rank'] / 1e9:.3g} GB on a node of {available / 1e9:.3g} GB, on {ranks} "
                       "ranks: choose fewer particles, a coarser mesh or more memory in campaign.env.")


class Chain:
    """Few universes with the campaign's voxels through all stages: the sizes of files, and rates."""

    def __init__(self, campaign, directory):
        sim, data, model, predictions = (directory / name for name in ("sim", "data", "model", "predictions"))
        few, tested = min(campaign.particles, 64), min(TESTED, campaign.split["test"])
        self.universes = 4 + 1 + tested
        run("cosmo-sim", "generate", "--config", campaign.path["sim"], "--simulations", self.universes, "--particles", few, "--mesh", few,
            *["--gradient-descent", "none"] * ("gradient-descent" in campaign.ini["sim"]), "--output", sim)
        shards, self.shard_processor, self.shard_seconds = run("cosmo-prep", "shard", "--config", campaign.path["prep"], "--training",
            4, "--validation", 1, "--test", tested, "--input", sim, "--output", data)
        samples = {name: split["samples"] for name, split in shards["splits"].items()}
        self.samples = sum(samples.values())
        train = ("cosmo-train", "--config", campaign.path["train"], "--data", data, "--output", model, "--epochs", 1)
        plan, _, _ = run(*train, "--global-batch", min(campaign.samples_of_a_rank(), samples["train"]), "--threads", campaign.threads("train"),
                         "--dry-run")
        train += ("--global-batch", 2)
        self.train_memory, self.model_bytes = plan["memory_bytes_per_rank"], plan["disk_bytes"]
        self.network, self.micro_batch = plan["network"], plan["micro_batch"]
        _, whole, _ = run(*train, "--time-limit", 0, stopped=True)  # statistics and a step
        _, self.train_start, _ = run(*train, "--time-limit", 0, stopped=True)  # another step
        self.statistics = max(0.0, whole - self.train_start) / samples["train"]
        run(*train)
        found, self.infer_processor, _ = run("cosmo-infer", "--split", "test", "--model", model, "--data", data, "--output", predictions)
        self.infer_memory, self.tested = found["memory_bytes_per_rank"], samples["test"]
        self.per_shard = shards["config"]["samples_per_shard"]
        self.measure_files(sim, data, model, predictions, samples)

    def measure_files(self, sim, data, model, predictions, samples):
        """Bytes and inodes of a universe (of none in a pack), of a shard and a sample, and of the rest."""
        def size(paths):
            return sum(path.stat().st_size for path in paths if path.is_file())
        if (sim / "packs").exists():
            self.universe = size([*sim.rglob("*.h5"), *sim.glob("*.csv")]) / self.universes, 0
            self.sim_inodes = 1 + len(list(sim.glob("*")))
        else:
            universe = list((sim / "sim-00000").rglob("*"))
            self.universe = size(universe) + (sim / "manifest.json").stat().st_size / self.universes, 1 + len(universe)
            self.sim_inodes = 1 + len(list(sim.glob("*"))) - self.universes
        train, validation = ((data / name / "shard-00000.h5").stat().st_size for name in ("train", "validation"))
        held = {name: min(number, self.per_shard) for name, number in samples.items()}  # by the first shard
        self.sample = (train - validation) / (held["train"] - held["validation"])
        self.shard = validation - self.sample * held["validation"]
        self.data_inodes = 1 + len(list(data.rglob("*"))) - 3
        self.model_inodes = 1 + len(list(model.rglob("*")))
        self.predictions = size(predictions.rglob("*")), 1 + len(list(predictions.rglob("*")))


class Steps:
    """A training step, by cosmo-train --benchmark on as many threads as a rank of the campaign has."""

    def __init__(self, network, micro_batch, size, threads):
        threads = threads_here(threads)
        found, processor, wall = run("cosmo-train", "--benchmark", 1, "--network", network, "--micro-batch", micro_batch, "--size", size,
                                     "--threads", threads)
        busy = min(threads, processor / wall)  # cores that computed
        self.busy = busy / threads
        self.seconds = busy * found["step_ms"] / 1e3 / found["batch"]
        self.forward = busy * found["forward_ms"] / 1e3 / found["batch"]
        self.gradient_bytes = 4 * found["parameters"]
        self.text = f"cosmo-train --benchmark --network {network}: {found['step_ms']:.4g} ms per step on {busy:.2g} of {threads} cores"


def estimate(campaign, sim, chain, steps, free):
    """The rows of the table, (name, value, unit, from what)."""
    cores, nodes, rows = campaign.cores, campaign.nodes, []
    few = f"{chain.universes} universes of few particles and all voxels"
    add = lambda *row: rows.append(row)
    timed = ", ".join(f"{n}³ particles on {m}³ cells {s:.3g} s" for n, m, s in sim.points)
    sim_seconds = campaign.universes * sim.seconds
    add("simulations", sim_seconds / 3600, "CPU h", f"{timed}: {sim.seconds:.4g} s for a universe by a + b M log M")
    total = sum(campaign.samples.values())
    shard_seconds = chain.shard_processor * total / chain.samples
    add("shards", shard_seconds / 3600, "CPU h", f"{few}, {chain.shard_processor:.3g} s")
    rounds, shared = campaign.rounds(sim.shared)
    own = cores * shared / campaign.number("sim_ranks")  # cores of a universe
    add("time of simulations", rounds * sim.seconds / (own * sim.busy) / 3600, "h",
        f"{nodes} x {cores} cores, busy for {100 * sim.busy:.0f} % of the time, {shared} of {campaign.number('sim_ranks') * campaign.number('sim_nodes')} ranks for a universe, "
        f"{campaign.number('slices')} slices: {rounds} universes one after another")
    add("time of shards", chain.shard_seconds * total / chain.samples / campaign.number("shard_nodes") / 3600, "h",
        f"{few}, {chain.shard_seconds:.3g} s on this machine's disk")
    threads, ranks = campaign.threads("train"), campaign.train_ranks()
    computing = ranks * threads * steps.busy  # cores
    statistics = chain.statistics * min(FEATURES * campaign.cuts, campaign.samples["train"])
    reduction = 2 * steps.gradient_bytes * (ranks - 1) / ranks / (campaign.number("network", float) * 1e9)
    for name, (epochs, batch) in campaign.trainings.items():
        training, validation = epochs * campaign.samples["train"], epochs * campaign.samples["validation"]
        seconds = training * steps.seconds + validation * steps.forward + statistics + chain.train_start
        add(f"training {name}", seconds / 3600, "CPU h", f"{steps.text}; statistics {chain.statistics * 1e3:.3g} ms per sample")
        each = batch // ranks
        step = each * steps.seconds / (threads * steps.busy)
        full, rest = divmod(campaign.samples["train"], batch)
        steps_of_epoch = full + min(rest, each) / each  # the last step takes as long as the first rank's samples
        wall = epochs * (steps_of_epoch * step + math.ceil(steps_of_epoch) * reduction) + (validation * steps.forward + statistics) / computing
        add(f"time of training {name}", wall / 3600, "h",
            f"{each} samples per rank in a step of {1e3 * step:.4g} ms, and {1e3 * reduction:.3g} ms of sums at {campaign.cluster['network']} GB/s, assumed")
        add(f"predictions {name}", chain.infer_processor * campaign.samples["test"] / chain.tested / 3600, "CPU h", f"{chain.tested} samples in {chain.infer_processor:.3g} s")
    add("all", sum(row[1] for row in rows if row[2] == "CPU h"), "CPU h", "the sum")
    add("time of all", sum(row[1] for row in rows if row[2] == "h"), "h", "one stage after another")
    return rows + sizes(campaign, sim, chain, free)


def sizes(campaign, sim, chain, free):
    """The rows of disk, inodes and memory; refuses what the cluster does not have."""
    shards = sum(math.ceil(number / chain.per_shard) for number in campaign.samples.values())
    data = sum(campaign.samples.values()) * chain.sample + shards * chain.shard
    universes, models = campaign.universes, len(campaign.trainings)
    universe_bytes, universe_inodes = chain.universe
    files = f"{chain.universes} universes with all voxels"
    rows = [("disk of simulations", universes * universe_bytes / 1e9, "GB", f"{files}; cosmo-sim --dry-run: {sim.disk / 1e9:.4g} GB"),
            ("disk of shards", data / 1e9, "GB", f"{files}: {chain.sample:.0f} bytes per sample, {shards} shards"),
            ("disk of models", models * (chain.model_bytes + chain.predictions[0]) / 1e9, "GB", "cosmo-train --dry-run, predictions of one universe")]
    needed = sum(row[1] for row in rows)
    campaign.check_disk(1e9 * needed, free)
    has_posterior = campaign.split["train"] + campaign.split["validation"] >= POSTERIOR
    packs = math.ceil(universes / campaign.pack) if campaign.pack else 0
    inodes = universes * universe_inodes + packs + chain.sim_inodes + shards + chain.data_inodes
    inodes += models * (chain.model_inodes + chain.predictions[1] + 2 * has_posterior) + 3  # OUT, and what holds models and predictions
    rows += [("disk", needed, "GB", "the sum"), ("inodes", inodes, "", f"{files}: {f'{packs} packs' if packs else f'{universe_inodes} of a universe'}, 1 of a shard")]
    if campaign.cluster.get("stage"):
        rows.append((f"disk of each node's {campaign.cluster['stage']}", data * (1 - campaign.samples["test"] / sum(campaign.samples.values())) / 1e9, "GB", "the shards of training and validation"))
    for name, ranks, per_rank in (("sim", campaign.number("sim_ranks"), sim.memory), ("train", campaign.number("train_ranks"), chain.train_memory),
                                  ("infer", campaign.number("infer_ranks"), chain.infer_memory)):
        if ranks * per_rank > campaign.number("memory", float) * 1e9:
            refuse(CONFIG, f"{ranks} ranks of {name} need {ranks * per_rank / 1e9:.3g} GB on a node of {campaign.cluster['memory']} GB: "
                           f"choose fewer {name}_ranks or more memory in campaign.env.")
        rows.append((f"memory of a rank, {name}", per_rank / 1e9, "GB", f"--dry-run; {ranks} on a node of {campaign.cluster['memory']} GB"))
    return rows


def processor_name():
    names = [line.partition(":")[2].strip() for line in open("/proc/cpuinfo", encoding="utf-8") if line.startswith("model name")]
    return f"{len(os.sched_getaffinity(0))} cores of {names[0] if names else 'an unnamed processor'}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", metavar="OUT", type=pathlib.Path)
    parser.add_argument("settings", metavar="SETTINGS", type=pathlib.Path)
    parser.add_argument("--nodes", type=int, metavar="N", help="nodes for which times are given [nodes of campaign.env]")
    parser.add_argument("--json", action="store_true", help="print the rows as one JSON object")
    options = parser.parse_args()
    campaign = Campaign(options.settings, options.nodes)
    others = os.getloadavg()[0]
    existed = options.out.exists()
    options.out.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(prefix="estimate-", dir=options.out) as directory:
            free = shutil.disk_usage(options.out).free
            directory = pathlib.Path(directory)
            sim = Simulations(campaign, directory)
            campaign.check_disk(sim.disk, free, "the universes alone need")
            sim.measure(campaign, directory)
            chain = Chain(campaign, directory)
            size = campaign.grid // round(campaign.cuts ** (1 / 3))
            steps = Steps(campaign.ini["train"].get("network", chain.network), chain.micro_batch, size, campaign.threads("train"))
            rows = estimate(campaign, sim, chain, steps, free)
    finally:
        if not existed:
            shutil.rmtree(options.out)
    original = campaign.cluster.get("original")
    if original:
        rows.insert(1, ("simulations to compare with", float(original), "CPU h", "original in campaign.env"))
    if options.json:
        print(json.dumps({name: value for name, value, _, _ in rows}))
        return
    if others > 0.5:
        print(f"The load of this machine was {others:.1f} before the start: times on an idle one are shorter.\n")
    trainings = "" if campaign.train_nodes == campaign.nodes else f", of trainings {campaign.train_nodes} x {campaign.cores}"
    print(f"Measured on {processor_name()}; times are those of {campaign.nodes} x {campaign.cores} cores{trainings}, that are as fast.\n")
    print("| | estimate | measured from |\n|---|---|---|")
    for name, value, unit, source in rows:
        print(f"| {name} | {value:,.0f} |" if not unit else f"| {name} | {value:.4g} {unit} |", source, "|")


if __name__ == "__main__":
    main()
