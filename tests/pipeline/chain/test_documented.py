"""Every command in README.md, CONTRIBUTING.md and the pages of docs/, run as it stands there but for its sizes.

Commands are the lines of ``` blocks that begin with a program or script of ours, and `code` that does and has a subcommand
or an option. A class runs those of its pages, in the order of the page, where the README's four commands left their output.
"""

import csv
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import h5py
import numpy as np

from gadget import example_positions, write_gadget4
from toolkit import BIN, ENVIRONMENT, ROOT, DirectoryTest, has_bf16, options_in

PROGRAMS = BIN.parent / "bench"
SCRIPTS = {f"{path.parent.relative_to(ROOT)}/{path.name}": path
           for folder in ("bench", "docs/figures", "python/examples") for path in (ROOT / folder).glob("*.py")}
SCRIPTS["tests/structure.py"] = ROOT / "tests/structure.py"

# One after another. Universes, samples and networks of 256 and 128 cells per side become four times smaller, all of them,
# so that those which do not fit each other still do not.
SIZES = [
    (r"--simulations \d+", "--simulations 8"), (r"--validation \d+", "--validation 2"), (r"--test \d+", "--test 3"),
    (r"--(particles|grid) 256", r"--\1 64"), (r"--grid 128", "--grid 32"),
    (r"compare_pytorch.py --network cosmoflow",
     "compare_pytorch.py --network mlperf --size 32 --rounds 1 --steps 1 --seconds 0 --threads 1 --layouts default"),
    (r"--benchmark --network", "--benchmark 0.1 --network"),
    (r"compare_numpy.py", "compare_numpy.py --build build/release --particles 32 --grid 16 --rounds 1"),
    (r"python_reader.py", "python_reader.py --samples 8 --rounds 1"),
    (r"bench-reduction", "bench-reduction --network cosmoflow32 --size 32 --rounds 1 --steps 1"),
    (r"--network cosmoflow(64)?(?!\d)", "--network cosmoflow32"), (r"--global-batch \d+", "--global-batch 8"),
    (r"--epochs \d+", "--epochs 3"), (r"--warmup-epochs \d+", "--warmup-epochs 1"), (r"--drops \S+", "--drops 1:0.5,2:0.25"),
    (r"--threads 2", "--threads 1"), (r"--bind-to core", "--bind-to none"),  # there may be fewer cores than ranks
]
# Names for placeholders that the reader is to replace, by the command; "…" stands for several words.
NAMES = {
    r"cosmo-prep histogram": {"SNAPSHOT": "snapdir_004", "TABLE": "suite.csv", "N": "64", "DIR": "counts"},
    r"cosmo-prep (verify|describe)": {"DIR": "data"},
    r"cosmo-prep import": {"DIR": "others"},
    r"cosmo-(sim inspect|infer)": {"DIR": "counts", "A,B,C": "model,model-2"},
    r"cosmo-infer --model …": {"--model …": "--model model", "--data …": "--data data"},
    r"cosmo-sim noise": {"S": "1", "N": "8", "FILE": "noise"},
    r"cosmo-sim generate": {"FILE": "design.csv"},
    r"cosmo-train": {"SECONDS": "0.1", "DATA": "data", "MODEL": "new", "FILE": "log.txt",
                     "…": "--network cosmoflow32 --epochs 1 --global-batch 8"},
    r"bench/inference.py": {"BIN": "build/release/bin", "MODEL": "model", "DATA": "data test 1"},
    r"training_losses.py": {"DATA": "data", "OUT": "new"},
    r"bench-reduction": {"MS": "1"},
    r"bench-shards": {"[DIRECTORY]": "--grid 16 --simulations 4 --samples-per-shard 16 --rounds 1"},
}
# Options that `code` leaves out and the tool needs; then it is run with --dry-run, where there is one. The first that
# has all words of a key counts.
REST = {
    "cosmo-sim generate": {"--particles": "32", "--output": "new"},
    "cosmo-sim noise": {},
    "cosmo-sim inspect": {"": "sim/sim-00000/counts_z0.h5"},
    "cosmo-prep shard --redshifts": {"--input": "sim-z", "--output": "new"},
    "cosmo-prep shard --target": {"--input": "sim-z", "--output": "new"},
    "cosmo-prep shard --test-for": {"--input": "sim", "--output": "new"},
    "cosmo-prep shard": {"--input": "sim", "--validation": "2", "--output": "new"},
    "cosmo-prep histogram": {"--input": "snapdir_004", "--grid": "64", "--output": "new"},
    "cosmo-prep export": {"--input": "data", "--format": "npy", "--output": "new"},
    "cosmo-prep verify": {"": "data"},
    "cosmo-train --print-network": {},
    "cosmo-train --benchmark": {"--network": "cosmoflow32"},
    "cosmo-train --target": {"--data": "pairs", "--output": "new"},
    "cosmo-train": {"--data": "data", "--network": "cosmoflow32", "--output": "new"},
    "cosmo-infer compare": {"": "model model-2"},
    "cosmo-infer export": {"--model": "model", "--output": "new.onnx"},
    "cosmo-infer --input": {"--model": "model"},
    "cosmo-infer": {"--model": "model", "--data": "data", "--output": "new"},
}
# What installs, builds, or runs this; that its scripts and presets exist is checked. Posteriors need more universes than there are here:
# infer/test_posterior.py.
NOT_RUN = re.compile(r"(?:[A-Z_]+=\S+ )*(?:cosmo-\w+ .*--(?:posterior-only|samples)|bash (?:pipelines/(?:quickstart|study/study|(?:reconstruct|web|paper)/(?:run|circle)|slurm/submit)|bench/socket|tests/(?:(?:faults/fuzz/)?run|portability)|packaging/deb|/usr/share/cosmo/pipelines/run)\.sh|cmake --(?:preset|install)|python3 tests/)")
OTHERS_PROGRAMS = ("apt-get", "chromium", "snakemake")
FORMER_OPTIONS = {"--slabs"}  # out of --help, and accepted for two MINOR versions
OTHERS_OPTIONS = {"--bind-to", "--no-build-isolation", "--no-deps", "--mca", "--preset", "--no-install-recommends", "--signal", "--time", "--mem", "--mpi",
                  "--cpus-per-task", "--kill-on-bad-exit", "--requeue", "--nolock", "--retries", "--dependency", "--install", "--prefix", "--variant", "--bind", "--mount"}

SUBCOMMANDS = {"cosmo-sim": ("generate", "inspect", "noise"), "cosmo-train": (), "cosmo-infer": ("export", "compare"),
               "cosmo-prep": ("shard", "histogram", "verify", "describe", "export", "import")}
START = re.compile(r"(?:exec |[A-Z_]+=\S+ )*(cosmo-(?:sim|prep|train|infer)|bench[-/]\S+|"
                   r"(?:docs/figures|python/examples)/\S+\.py|mpirun|bash|cmake)(?= |$)")


def pages():
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "decisions")]


def pieces(page):
    """(language or None, text) of each ``` block, and of each `code` with blanks for line breaks, in the page's order."""
    for match in re.finditer(r"```(\w*)\n(.*?)```|`([^`]+)`", page.read_text(), re.DOTALL):
        yield (None, " ".join(match[3].split())) if match[3] else (match[1], match[2])


def is_diagram(block):
    return "--->" in block


def commands(page):
    """(is in a block, text) of each command of a page."""
    for language, text in pieces(page):
        if language is None:
            start = START.match(text)
            if start and (start[1] != "mpirun" or re.search(r" (cosmo|bench)-", text)) and " " in text:
                yield False, text
        elif language != "python" and not is_diagram(text):
            for line in text.replace("\\\n", " ").splitlines():
                if START.match(line):
                    yield True, " ".join(re.sub(r" +#.*", "", line).split())


def tool_of(text):
    """The program of a command, and its subcommand or ""."""
    words = text[re.search(r"(cosmo|bench)[-/]|docs/figures/|python/examples/", text).start():].split()
    return words[0], words[1] if words[1:] and words[1] in SUBCOMMANDS.get(words[0], ()) else ""


def help_of(*words):
    done = subprocess.run([str(word) for word in (*words, "--help")], capture_output=True, text=True, env=ENVIRONMENT)
    assert done.returncode == 0, f"{words}: {done.stderr}"
    return done.stdout


@functools.cache
def options_of(tool, subcommand=""):
    """{option: whether it takes a value} of a program or script, by its --help."""
    if tool.endswith(".py"):
        path = tool if "/" in tool else f"bench/{tool}"
        assert path in SCRIPTS, f"there is no {path}"
        text = help_of(sys.executable, SCRIPTS[path])
        return {option: bool(value) for option, value in re.findall(r"(?m)^ +(?:-\w, )?(--[\w-]+)( [A-Z{].*)?", text)}
    program = BIN / tool if tool in SUBCOMMANDS else PROGRAMS / pathlib.Path(tool).name
    assert program.is_file(), f"there is no {tool}"
    return options_in(help_of(program, *[subcommand] * bool(subcommand)))


def placeholders(text):
    """Words that a reader is to replace."""
    plain = re.sub(r"\b[A-Z_]+=", "", text)
    return re.findall(r"(?<![\w.])[A-Z][A-Z,]*(?![\w.])|…|\[\w+\]", plain)


class Documents(DirectoryTest):
    """A directory as after the README's commands, with what other pages take for granted."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.root / "build").mkdir()
        for name, target in (("bench", ROOT / "bench"), ("docs", ROOT / "docs"), ("python", ROOT / "python"), ("build/release", BIN.parent)):
            (cls.root / name).symlink_to(target)
        for in_block, text in commands(ROOT / "README.md"):
            if in_block and not NOT_RUN.match(text):
                cls.run_text(cls.small(text))
        cls.run_text("cosmo-sim generate --simulations 4 --sigma8 0.7:0.9 --particles 32 --redshifts 0,0.5 --save counts,particles,initial "
                     "--output sim-z")
        cls.run_text("cosmo-prep shard --input sim-z --target initial --subvolumes 1 --validation 1 --test 1 --output pairs")
        cls.run_text(cls.small("cosmo-train --data data --output model-2 --network cosmoflow --epochs 20 --seed 2"))
        cls.write_tables()

    @classmethod
    def write_tables(cls):
        """The tables that stand in docs/reference/formats.md, the snapshots that they name, counts, and samples of others."""
        tables = [text for language, text in pieces(ROOT / "docs/reference/formats.md") if language == ""]
        design, = (text for text in tables if text.startswith("# comments"))
        (cls.root / "design.csv").write_text(design)
        suite, = (text for text in tables if text.startswith("snapshot,"))
        header, *lines = suite.split()
        lines += [re.sub(r"lh_\d", f"lh_{i}", line).rsplit(",", 1)[0] + f",{i}" for i, line in enumerate(lines, len(lines))]
        (cls.root / "suite.csv").write_text("\n".join([header, *lines]) + "\n")
        for i, line in enumerate(lines):
            write_gadget4(cls.root / line.split(",")[0], example_positions("f4", seed=i), 1,
                          omega_m=float(line.split(",")[1]))
        box = 512  # Mpc/h, of the README's universes
        write_gadget4(cls.root / "snapdir_004", example_positions("f4", box * 1e3), 2, box=box * 1e3)
        cls.run_text("cosmo-prep histogram --input snapdir_004 --grid 64 --output counts")
        with h5py.File(cls.root / "sim/sim-00000/counts_z0.h5") as file:
            np.save(cls.root / "counts.npy", file["counts"])
        (cls.root / "cubes").mkdir()
        for name in ("a", "b"):
            shutil.copy(cls.root / "counts.npy", cls.root / f"cubes/{name}.npy")
        cls.run_text("cosmo-prep export --input data --format tfrecord --output others")
        with open(cls.root / "others/samples.csv", newline="") as file:
            samples = list(csv.DictReader(file))
        with open(cls.root / "samples.csv", "w", newline="") as file:
            table = csv.DictWriter(file, ["file", "simulation", "omega_m", "sigma8"], extrasaction="ignore")
            table.writeheader()
            table.writerows(samples)

    @classmethod
    def small(cls, text):
        """A command of a page at a small size, with names in place of what stands for them."""
        for command, names in NAMES.items():
            if re.search(command, text):
                for name, value in names.items():
                    text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", value, text)
        for size, smaller in SIZES:
            text = re.sub(size, smaller, text)
        return text

    @classmethod
    def run_text(cls, text):
        """Runs a command of a page where its input is; output of another request makes way."""
        for output in re.findall(r"--output (\S+)", text) + ["new"]:
            shutil.rmtree(cls.root / output, ignore_errors=True)
        path = os.pathsep.join([str(BIN), str(PROGRAMS), ENVIRONMENT["PATH"]])
        done = subprocess.run(["bash", "-c", text], cwd=cls.root, env=dict(ENVIRONMENT, PATH=path), capture_output=True,
                              text=True, timeout=120)
        if done.returncode == 3 and "AVX512_BF16" in done.stderr and not has_bf16():
            return  # refused, as described in docs/reference/network.md
        assert done.returncode == 0, (f"`{text}` ended with {done.returncode}; if it needs another size or name, add it to "
                                      f"SIZES or NAMES in test_documented.py:\n{done.stdout}{done.stderr}")

    def check(self, page):
        """Runs the commands of a page, each once."""
        done = set()
        for in_block, text in commands(page):
            if text in done or NOT_RUN.match(text) or page.name == "README.md" and in_block:
                continue
            done.add(text)
            with self.subTest(page=page.name, command=text):
                self.check_options(text)
                small = self.small(text)
                if not in_block:
                    if self.ends_with_an_option(text):
                        continue
                    small = self.completed(small)
                self.assertEqual(placeholders(small), [], f"`{text}` has a word that is to be replaced: add its value to "
                                                          "NAMES in test_documented.py")
                self.run_text(small)

    def check_options(self, text):
        tool, subcommand = tool_of(text)
        known = options_of("cosmo-train" if tool.endswith("training_losses.py") else tool, subcommand)
        for option in re.findall(r"--[a-z][\w-]*", text[text.index(tool):]):
            self.assertTrue(option in known, f"{tool} {subcommand} does not know {option}")

    def ends_with_an_option(self, text):
        """Whether it is not a command but a mention of an option without its value."""
        last = text.split()[-1]
        return last.startswith("--") and options_of(*tool_of(text))[last]

    def completed(self, text):
        """`code` with what it leaves out, and as a dry run if that is much."""
        for key, rest in REST.items():
            if all(word in text.split() for word in key.split()):
                missing = [f"{option} {value}".strip() for option, value in rest.items() if not self.has(option, text)]
                if missing and "--dry-run" in options_of(*tool_of(text)):
                    missing.append("--dry-run")
                    text = re.sub(r"--output \S+", "--output new", text)  # what is there stays
                return " ".join([text, *missing])
        return text

    def has(self, option, text):
        return option in text.split() if option else not text.endswith(tool_of(text)[1])


class Readme(Documents):
    LABELS = ("slow",)
    PAGES = ("README.md", "CONTRIBUTING.md", "docs/README.md",
             *(f"docs/guides/{name}.md" for name in ("clusters", "first-run", "installing", "python", "sites", "training")),
             *(f"docs/measured/{name}.md" for name in ("accuracy", "portability", "reliability", "results")),
             *(f"docs/method/{name}.md" for name in ("cola", "sums")),
             *(f"docs/reference/{name}.md" for name in ("architecture", "exit-codes", "glossary", "options", "reading", "security", "stability")))

    def test_commands(self):
        for page in self.PAGES:
            self.check(ROOT / page)

    def test_what_is_not_run_is_there(self):
        presets = json.loads((ROOT / "CMakePresets.json").read_text())
        found = {text for page in pages() for _, text in commands(page) if NOT_RUN.match(text)}
        self.assertGreater(len(found), 4)
        for text in found:
            for script in re.findall(r"(?:bash|python3) (\S+)", text):
                self.assertTrue((ROOT / script.removeprefix("/usr/share/cosmo/")).is_file(), text)
            for kind, preset in re.findall(r"(cmake|cmake --build|ctest) --preset (\w+)", text):
                kind = {"cmake": "configure", "cmake --build": "build", "ctest": "test"}[kind] + "Presets"
                self.assertIn(preset, [each["name"] for each in presets[kind]], text)

    def test_python(self):
        """The Dataset of docs/reference/reading.md, as the program that it is."""
        program, = (text for language, text in pieces(ROOT / "docs/reference/reading.md") if language == "python")
        (self.root / "shards.py").write_text(program)
        done = subprocess.run([sys.executable, "shards.py", "data"], cwd=self.root, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("torch.Size([4, 1, 32, 32, 32]) torch.Size([4, 3])", done.stdout)


# Workers of either kind read what the process itself reads.
WORKERS = """
if __name__ == "__main__":
    samples = Shards("data")
    own = [float(samples[i][0].sum()) for i in range(len(samples))]
    for start in ("fork", "spawn"):
        loader = torch.utils.data.DataLoader(samples, batch_size=None, num_workers=2, multiprocessing_context=start)
        print("equal" if [float(x.sum()) for x, _ in loader] == own else start)
"""


class Formats(Documents):
    LABELS = ("slow",)
    PAGES = ("docs/reference/formats.md", "docs/guides/own-data.md")

    def test_commands(self):
        for page in self.PAGES:
            self.check(ROOT / page)

    def test_python(self):
        """yt finds the box's particles in Mpc/h, and the Dataset of docs/reference/reading.md the shards' samples, in workers of either kind."""
        snapshot, = (text for language, text in pieces(ROOT / self.PAGES[0]) if language == "python")
        program, = (text for language, text in pieces(ROOT / "docs/reference/reading.md") if language == "python")
        dataset = program.partition("\nif __name__")[0]
        lines = snapshot.replace("path", f"'{self.root}/sim-z/sim-00000/snapshot_z0.hdf5'").splitlines()
        names = {}
        exec("\n".join(lines[:-1]), names)
        positions = eval(lines[-1], names)
        self.assertEqual(positions.shape, (32**3, 3))
        self.assertTrue(500 < float(positions.max()) <= 512 and float(positions.min()) >= 0, positions)
        exec(dataset, names)
        samples = names["Shards"](self.root / "data")
        x, y = samples[len(samples) - 1]
        self.assertEqual((tuple(x.shape), y.ndim), ((1, 32, 32, 32), 1))
        (self.root / "workers.py").write_text(dataset + WORKERS)
        done = subprocess.run([sys.executable, "workers.py"], cwd=self.root, capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stdout), (0, "equal\n" * 2), done.stderr)


class Inference(Documents):
    LABELS = ("slow",)
    PAGES = ("docs/guides/posteriors.md", "docs/method/posteriors.md", "docs/reference/onnx.md")

    def test_commands(self):
        for page in self.PAGES:
            self.check(ROOT / page)


class Benchmarks(Documents):
    LABELS = ("slow",)
    PAGES = ("docs/measured/benchmarks.md",)

    def test_commands(self):
        self.check(ROOT / self.PAGES[0])


class Networks(Documents):
    LABELS = ("slow",)
    PAGES = ("docs/reference/network.md", "docs/method/filtering.md", "docs/measured/scaling.md", "docs/guides/fields.md", "docs/guides/web.md",
             "docs/guides/campaign.md")

    def test_commands(self):
        for page in self.PAGES:
            self.check(ROOT / page)


class Words(unittest.TestCase):
    """What needs no run."""

    def test_every_page_is_read(self):
        read = {ROOT / page for group in (Readme, Formats, Inference, Benchmarks, Networks) for page in group.PAGES}
        self.assertEqual(read, set(pages()), "name the page in one of the classes")

    def test_every_line_of_a_block_is_understood(self):
        """A block of commands has only commands, and no other block looks like one: no command is overlooked."""
        looks = re.compile(r"cosmo-\w|(bench|docs|tests|pipelines)/\w|bench-|python|ctest|\./")
        for page in pages():
            for language, text in pieces(page):
                if language in (None, "python") or is_diagram(text):
                    continue
                lines = [line for line in text.replace("\\\n", " ").splitlines() if line]
                if any(START.match(line) or looks.match(line) for line in lines):
                    for line in lines:
                        if line.split()[0] not in OTHERS_PROGRAMS and not line.startswith("#"):
                            self.assertRegex(line, START, f"{page.name}: add what this line begins with to START")

    def test_every_option_is_known(self):
        """To some tool or script: one that was renamed is found."""
        tools = [(tool, subcommand) for tool, names in SUBCOMMANDS.items() for subcommand in (names or ("",))]
        tools += [("cosmo-infer", "")] + [(name, "") for name in SCRIPTS]
        tools += [(path.name, "") for path in PROGRAMS.glob("bench-*")]
        usages = "".join(line for path in (*ROOT.glob("pipelines/*/*.sh"), *ROOT.glob("bench/*.sh")) for line in path.read_text().splitlines()
                         if line.startswith("# Usage: "))
        known = set(re.findall(r"--[a-z][\w-]*", usages)).union(OTHERS_OPTIONS, FORMER_OPTIONS, *(options_of(*tool) for tool in tools))
        for page in pages():
            for language, text in pieces(page):
                if language == "python" or is_diagram(text):
                    continue
                lines = [line for line in text.splitlines() if line.split() and line.split()[0] not in OTHERS_PROGRAMS]
                for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", "\n".join(lines)):
                    self.assertTrue(option in known, f"{page.name}: no tool or script has {option}; if it is another "
                                                     "program's, add it to OTHERS_OPTIONS in test_documented.py")

    def test_every_file_is_there(self):
        """That `code` names by its path in the repository, or in the build directory."""
        for page in pages():
            for language, text in pieces(page):
                if language is None and re.fullmatch(r"(?!train/shard-)(core|sim|histogram|dataset|train|infer|tests|bench|docs|pipelines|python|cmake)/[\w./-]+", text):
                    path = re.sub(r"[A-Z]{2,}", "*", text)  # NAME.cpp is any
                    found = [*ROOT.glob(path), *ROOT.glob(path + ".*"), *BIN.parent.glob(path)]
                    with self.subTest(page.name, path=text):
                        self.assertTrue(found)


if __name__ == "__main__":
    unittest.main()
