#!/usr/bin/env python3
"""Times trainer, simulator and loader on 1, 2, 4, ... cores and writes OUT/socket.md and OUT/socket.csv; bench/socket.sh calls it.

trainer    cosmo-train --benchmark: one sample on all cores (threads), a sample per core (ranks), and both; share of the FMA peak
loader     cosmo-train on shards, one sample on all cores; share of the benchmark's rate
universe   cosmo-sim generate, one universe on all cores; share of the copy rate, by 240 bytes per particle and step
suite      a universe per core, of an eighth of the particles; the same
copy       one process per core copies memory: what STREAM's copy does

The peak and the copy rate are those of the same cores in the same run. Rounds over all of these repeat, and medians count, until the next
one would not end within the minutes given.
"""

import argparse
import collections
import csv
import json
import math
import multiprocessing
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

BYTES = 240  # per particle and step of a COLA code, as in bench-sim-step
STEPS = 10
BUSY = ", so that these are not the speed-ups of free cores"
Row = collections.namedtuple("Row", "what way cores rate unit speedup efficiency share of limit")


class OutOfTime(Exception):
    pass


class Clock:
    def __init__(self, minutes):
        self.start, self.end = time.monotonic(), time.monotonic() + 60 * minutes

    def left(self):
        left = self.end - time.monotonic()
        if left < 1:
            raise OutOfTime
        return left


def others_seconds():
    """Processor seconds of the machine since it started, but those of this run and its programs."""
    with open("/proc/stat", encoding="utf-8") as file:
        user, nice, system, _, _, irq, softirq, steal = map(int, file.readline().split()[1:9])
    own = sum(getattr(resource.getrusage(who), name) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN) for name in ("ru_utime", "ru_stime"))
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK") - own


def run(clock, *words, ranks=1, threads=1):
    """The JSON summary of a tool on ranks of some threads."""
    start = [] if ranks == 1 else ["mpirun", "-n", str(ranks), "--map-by", f"slot:PE={threads}", "--bind-to", "core"]
    command = [*start, *map(str, words), "--threads", str(threads), "--json", "--quiet"]
    try:
        done = subprocess.run(command, env={**os.environ, "OMP_WAIT_POLICY": "active"}, capture_output=True, text=True, timeout=clock.left())
    except subprocess.TimeoutExpired:
        raise OutOfTime from None
    if done.returncode != 0:
        sys.exit(f"socket_cores.py: error: {' '.join(command)} ended with {done.returncode}: {done.stderr.strip()[-400:]}")
    return json.loads(done.stdout)


def copy_worker(start, end, size, seconds, results):
    """Copies until `seconds` have passed, between two barriers; gives bytes read and written per second."""
    a, b = memoryview(bytearray(size)), memoryview(bytearray(size))
    a[:] = b
    start.wait()
    begin, copies = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        a[:] = b
        copies += 1
    results.put(2 * size * copies / (time.perf_counter() - begin))
    end.wait()


def copy_rate(cores, size, seconds):
    start, end, results = multiprocessing.Barrier(cores), multiprocessing.Barrier(cores), multiprocessing.Queue()
    workers = [multiprocessing.Process(target=copy_worker, args=(start, end, size, seconds, results)) for _ in range(cores)]
    for worker in workers:
        worker.start()
    total = sum(results.get() for _ in workers)
    for worker in workers:
        worker.join()
    return total


class Socket:
    """The measurements; `found` has {(what, way, cores): [{rate, ...} of each round]}."""

    def __init__(self, options, clock, directory):
        self.clock, self.directory, self.small = clock, directory, options.small
        self.network, self.size = ("cosmoflow32", 32) if options.small else ("cosmoflow", 128)
        self.particles = 32 if options.small else 256
        self.found = collections.defaultdict(list)
        self.number = 0
        run(clock, "cosmo-sim", "generate", "--simulations", 6, "--omega-m", "0.25:0.35", "--particles", 32, "--grid", 2 * self.size, "--steps", 2,
            "--output", directory / "shards-of")
        run(clock, "cosmo-prep", "shard", "--input", directory / "shards-of", "--validation", 1, "--test", 1, "--output", directory / "data")

    def note(self, what, way, cores, **figures):
        self.found[what, way, cores].append(figures)

    def latest(self, what, way, cores):
        return self.found[what, way, cores][-1]

    def fresh(self):
        self.number += 1
        return self.directory / f"out-{self.number}"

    def measure(self, cores):
        self.note("copy", "processes", cores, rate=copy_rate(cores, 1 << (20 if self.small else 27), 0.1 if self.small else 1))
        self.train("threads", cores, 1, cores)
        if cores > 1:
            self.train("ranks", cores, cores, 1)
        both = 1 << int(math.log2(cores)) // 2
        if cores >= 4:
            self.train(f"{cores // both} ranks of {both} threads", cores, cores // both, both)
        self.load(cores)
        self.universe("universe", cores, self.particles, 1)
        self.universe("suite", cores, self.particles // 2, cores)

    def train(self, way, cores, ranks, threads):
        benchmark = run(self.clock, "cosmo-train", "--benchmark", 0.2 if self.small else 3, "--network", self.network, "--micro-batch", 1,
                        ranks=ranks, threads=threads)
        self.note("trainer", way, cores, rate=1e3 * ranks / benchmark["step_ms"], share=benchmark["fraction_of_peak"], ranks=ranks,
                  parts=benchmark["breakdown_ms"], peak=benchmark["peak_gflops"])

    def load(self, cores):
        expected, seconds = self.latest("trainer", "threads", cores)["rate"], 0.2 if self.small else 6
        epochs = max(1, round(seconds * expected / 32))
        found = run(self.clock, "cosmo-train", "--recipe", "paper", "--network", self.network, "--data", self.directory / "data", "--global-batch", 1,
                    "--epochs", epochs, "--output", self.fresh(), threads=cores)
        self.note("loader", "threads", cores, rate=found["samples_per_s"], share=found["samples_per_s"] / expected, waiting=found["data_wait_fraction"])

    def universe(self, what, cores, particles, ranks):
        found = run(self.clock, "cosmo-sim", "generate", "--simulations", ranks, "--omega-m", "0.25:0.35", "--particles", particles, "--box", 2 * particles,
                    "--steps", STEPS, "--output", self.fresh(), ranks=ranks, threads=cores // ranks)
        rate = ranks / found["seconds"]
        moved = BYTES * particles ** 3 * STEPS * rate
        self.note(what, "threads" if what == "universe" else "ranks", cores, rate=rate, share=moved / self.latest("copy", "processes", cores)["rate"])


def median(figures, name):
    return statistics.median(figure[name] for figure in figures)


def times(several, alone):
    """How many times the rate of one core, the median of rounds."""
    return statistics.median(many["rate"] / one["rate"] for many, one in zip(several, alone))


def limit_of_steps(figures, alone, cores):
    """The part of a step that is most above its share of one core's."""
    def parts(runs):
        return {name: statistics.median(figure["parts"][name] for figure in runs) for name in figures[0]["parts"]}
    threads = cores // figures[0]["ranks"]
    lost = {name: value - parts(alone)[name] / threads for name, value in parts(figures).items()}
    worst = max(lost, key=lost.get)
    if cores == 1 or lost[worst] <= 0:
        return "the peak"
    return f"{worst.replace('_', ' ')}: {lost[worst]:.3g} of {sum(parts(figures).values()):.3g} ms are above one core's{f' / {threads}' * (threads > 1)}"


def limit(key, found):
    """What keeps the speed-up below the number of cores."""
    what, _, cores = key
    figures = found[key]
    if what == "trainer":
        return limit_of_steps(figures, found["trainer", "threads", 1], cores)
    if what == "loader":
        return f"{100 * median(figures, 'waiting'):.1f} % of the time waiting for data; the reader shares the cores"
    if what == "copy":
        return "memory"
    return f"copies are {times(found['copy', 'processes', cores], found['copy', 'processes', 1]):.2f} times those of one core"


def rows_of(found):
    of = {"trainer": "FMA peak", "loader": "the benchmark", "universe": "copy rate", "suite": "copy rate", "copy": ""}
    units = {"trainer": "samples/s", "loader": "samples/s", "universe": "universes/s", "suite": "universes/s", "copy": "bytes/s"}
    rows = []
    for key in sorted(found, key=lambda key: (list(of).index(key[0]), key[1] != "threads", key[2])):
        what, way, cores = key
        rate = median(found[key], "rate")
        speedup = times(found[key], found.get((what, way, 1)) or found[what, "threads", 1])
        share = median(found[key], "share") if "share" in found[key][0] else None
        rows.append(Row(what, way, cores, rate, units[what], speedup, speedup / cores, share, of[what], limit(key, found)))
    return rows


def serial_share(rows, what, way="threads"):
    """Amdahl's s of 1 and 2 cores: speed-up 1 / (s + (1 - s) / 2)."""
    two = [row.speedup for row in rows if (row.what, row.way, row.cores) == (what, way, 2)]
    return 2 / two[0] - 1 if two else None


def python_with_gpu():
    """An interpreter whose PyTorch has a GPU, or None."""
    for python in (sys.executable, "/usr/bin/python3"):
        words = [python, "-c", "import torch; raise SystemExit(not torch.cuda.is_available())"]
        if pathlib.Path(python).exists() and subprocess.run(words, capture_output=True).returncode == 0:
            return python
    return None


def on_gpu(socket, clock):
    """The text of compare_pytorch.py for the same networks and precisions on a GPU, or why there is none."""
    python = python_with_gpu()
    if python is None:
        return "Not run on a GPU: there is no PyTorch with CUDA here.\n"
    texts = []
    for network, precision in (("cosmoflow", "f32"), ("cosmoflow", "bf16"), ("mlperf", "f32"), ("mlperf", "bf16")):
        words = [python, str(pathlib.Path(__file__).with_name("compare_pytorch.py")), "--device", "cuda", "--network", network,
                 "--precision", precision, "--size", str(socket.size), "--rounds", "1", "--steps", "20", "--cosmo-train", "cosmo-train"]
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=clock.left())
            texts.append(done.stdout if done.returncode == 0 else f"{network}, {precision}: {done.stderr.strip()[-300:]}\n")
        except (OutOfTime, subprocess.TimeoutExpired):
            texts.append(f"{network}, {precision}: no time was left\n")
    return "On the GPU, beside all cores:\n\n```\n" + "".join(texts) + "```\n"


def page(rows, cores, rounds, left_out, others, gpu):
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    lines = [f"{max(cores)} cores of {names[0] if names else 'an unnamed processor'}, medians of {rounds} round{'s' * (rounds != 1)}; other work took {others:.2f} cores beside{BUSY * (others > 0.1)}.", "",
             "| | way | cores | rate | speed-up | efficiency | share | what limits it |", "|---|---|---|---|---|---|---|---|"]
    for row in rows:
        share = "" if row.share is None else f"{row.share:.2f} of {row.of}"
        lines.append(f"| {row.what} | {row.way} | {row.cores} | {row.rate:.4g} {row.unit} | {row.speedup:.2f} | {row.efficiency:.2f} | {share} | {row.limit} |")
    for what in ("trainer", "universe"):
        if (share := serial_share(rows, what)) is not None:
            lines.append(f"\nSerial share of the {what}, from 1 and 2 threads: {100 * share:.1f} %." if share < 1 else
                         f"\nThe {what} was slower on 2 threads than on 1.")
    if left_out:
        lines.append(f"\nNo time was left for {', '.join(f'{n} cores' for n in left_out)}.")
    return "\n".join([*lines, "", gpu])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", metavar="OUT", type=pathlib.Path, help="directory to write")
    parser.add_argument("--minutes", type=float, default=7.5, help="most that the run may take (%(default)s)")
    parser.add_argument("--cores", help="numbers of cores, such as 1,2,4 (1, 2, 4, ... and all)")
    parser.add_argument("--rounds", type=int, default=9, help="most rounds (%(default)s)")
    parser.add_argument("--small", action="store_true", help="smallest sizes: shows that it runs, not how fast")
    options = parser.parse_args()
    available = len(os.sched_getaffinity(0))
    cores = sorted({int(number) for number in options.cores.split(",")} if options.cores else
                   {1 << i for i in range(available.bit_length())} - {1 << available.bit_length()} | {available})
    if cores[0] < 1 or cores[-1] > available:
        parser.error(f"--cores names {cores[0]} to {cores[-1]} cores and there are {available}")
    cores = sorted({1, *cores})
    clock, others = Clock(options.minutes), others_seconds()
    options.out.mkdir(parents=True, exist_ok=True)
    rounds, left_out, spent = 0, [], 0
    def too_few():
        sys.exit(f"socket_cores.py: error: {options.minutes} minutes are too few for one core: give more.")

    with tempfile.TemporaryDirectory(dir=options.out) as directory:
        try:
            socket = Socket(options, clock, pathlib.Path(directory))
        except OutOfTime:
            too_few()
        while rounds < options.rounds and spent < clock.end - time.monotonic():
            begin = time.monotonic()
            for number in [1, *reversed(cores[1:])]:  # what matters most first
                try:
                    socket.measure(number)
                except OutOfTime:
                    left_out += [number] * (rounds == 0)
            rounds, spent = rounds + 1, time.monotonic() - begin
        others = (others_seconds() - others) / (time.monotonic() - clock.start)
        gpu = on_gpu(socket, clock)
    if not socket.found["suite", "ranks", 1]:
        too_few()
    found = {key: figures for key, figures in socket.found.items() if figures}
    rows = rows_of(found)
    with open(options.out / "socket.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([Row._fields, *rows])
    (options.out / "socket.md").write_text(page(rows, cores, rounds, left_out, others, gpu), encoding="utf-8")
    print((options.out / "socket.md").read_text(encoding="utf-8"), end="")


if __name__ == "__main__":
    main()
