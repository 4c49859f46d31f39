"""What `cmake --install` copies, and how it works from there: tools, manual pages, completion in bash, pipelines."""

import gzip
import pathlib
import platform
import re
import shlex
import shutil
import subprocess
import unittest

from toolkit import BIN, ENVIRONMENT, ROOT, DirectoryTest, options_in, printed

TOOLS = {"cosmo-sim": ("generate", "inspect", "noise"), "cosmo-train": ("",), "cosmo-infer": ("", "export", "compare"),
         "cosmo-prep": ("shard", "histogram", "verify", "describe", "export", "import")}
PAGES = BIN.parent / "packaging"


def options_of(tool, command):
    """{option: whether it takes a value}, as --help lists them."""
    return options_in(printed(tool, *command.split(), "--help"))


class Installed(DirectoryTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        done = subprocess.run(["cmake", "--install", BIN.parent, "--prefix", "/usr"], env=dict(ENVIRONMENT, DESTDIR=str(cls.root)),
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        cls.usr = cls.root / "usr"

    def test_files(self):
        found = {path.relative_to(self.root).as_posix() for path in self.root.rglob("*") if path.is_file()}
        expected = {"usr/share/doc/cosmo/copyright", "usr/share/doc/cosmo/README.md", "usr/share/doc/cosmo/CHANGELOG.md",
                    "usr/share/doc/cosmo/CITATION.cff", "usr/share/doc/cosmo/CONTRIBUTING.md"}
        for tool in TOOLS:
            expected |= {f"usr/bin/{tool}", f"usr/share/man/man1/{tool}.1", f"usr/share/bash-completion/completions/{tool}"}
        listed = subprocess.run(["git", "-C", ROOT, "ls-files", "pipelines", "docs"], capture_output=True, text=True, check=True)
        for path in listed.stdout.split():
            if path.startswith("docs/") and not path.endswith(".py"):
                expected.add(f"usr/share/doc/cosmo/{path}")
            elif path.startswith("pipelines/") and path not in ("pipelines/quickstart.sh", "pipelines/setup.sh"):
                expected.add(f"usr/share/cosmo/{path}")
        self.assertEqual(found, expected)

    def test_tools_run(self):
        for tool in TOOLS:
            done = subprocess.run([self.usr / "bin" / tool, "--version"], env=ENVIRONMENT, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertRegex(done.stdout, rf"^{tool} \d+\.\d+\.\d+ \(")

    def test_pipelines_find_the_tools(self):
        """Where PATH has none; the first of them then refuses settings that are not there."""
        path = self.root / "path"
        path.mkdir()
        for program in ("bash", "dirname", "realpath"):
            (path / program).symlink_to(shutil.which(program))
        run = [path / "bash", self.usr / "share/cosmo/pipelines/run.sh", self.root / "none", self.root / "out"]
        done = subprocess.run(run, env=dict(ENVIRONMENT, PATH=str(path)), capture_output=True, text=True)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("cosmo-sim: error: --config: ", done.stderr)
        (self.usr / "bin/cosmo-infer").rename(self.root / "cosmo-infer")
        done = subprocess.run(run, env=dict(ENVIRONMENT, PATH=str(path)), capture_output=True, text=True)
        (self.root / "cosmo-infer").rename(self.usr / "bin/cosmo-infer")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (4, 1), done.stderr)
        self.assertIn("cosmo-infer is not on PATH", done.stderr)


class DebianPackage(DirectoryTest):
    LABELS = ("slow",)

    def test_contents(self):
        """As `cmake --install` copies them, with what Debian asks for besides: compressed pages and changelogs, a reference to the licence."""
        done = subprocess.run(["cpack", "-G", "DEB", "-B", self.root, "--config", BIN.parent / "CPackConfig.cmake"], env=ENVIRONMENT,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        package, = self.root.glob("cosmo_*.deb")
        subprocess.run(["dpkg-deb", "-R", package, self.root / "package"], check=True)
        doc = self.root / "package/usr/share/doc/cosmo"
        self.assertIn("/usr/share/common-licenses/GPL-3.", (doc / "copyright").read_text())
        self.assertLess((doc / "copyright").stat().st_size, 1000)
        self.assertEqual(gzip.decompress((doc / "changelog.gz").read_bytes()), (ROOT / "CHANGELOG.md").read_bytes())
        self.assertRegex(gzip.decompress((doc / "changelog.Debian.gz").read_bytes()).decode(), r"^cosmo \(\d+\.\d+\.\d+-1~\w+\) ")
        for tool in TOOLS:
            page = self.root / f"package/usr/share/man/man1/{tool}.1.gz"
            self.assertEqual(gzip.decompress(page.read_bytes()), (PAGES / f"{tool}.1").read_bytes())
            self.assertTrue((self.root / "package/usr/bin" / tool).is_file())
        control = (self.root / "package/DEBIAN/control").read_text()
        self.assertRegex(control, r"(?m)^Depends: (openmpi-bin|mpich), .*libdnnl")
        for path in (self.root / "package/usr/share/cosmo").rglob("*"):
            if path.is_file() and path.read_bytes().startswith(b"#!"):
                self.assertTrue(path.stat().st_mode & 0o100, path)


class OldProcessor(unittest.TestCase):
    emulator = shutil.which("qemu-x86_64") or shutil.which("qemu-x86_64-static")

    @unittest.skipUnless(emulator and platform.machine() == "x86_64", "needs qemu-user and x86-64")
    def test_without_avx2(self):
        for tool in TOOLS:
            done = subprocess.run([self.emulator, "-cpu", "Nehalem", BIN / tool, "--version"], env=ENVIRONMENT, capture_output=True, text=True)
            sentence = f"{tool}: error: This CPU has no AVX2, for which the tool was compiled: run it on a CPU that has it, or "
            self.assertTrue(done.stderr.startswith(sentence), done.stderr)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (4, "", 1))


class ManualPages(unittest.TestCase):
    def test_every_option_is_described(self):
        for tool, commands in TOOLS.items():
            page = (PAGES / f"{tool}.1").read_text()
            self.assertEqual(page, printed(tool, "--man"))
            sections = {f"{tool} {command}".strip().upper().replace("-", "\\-"): command for command in commands}
            if len(commands) == 1:
                sections = {"OPTIONS": commands[0]}
            parts = dict(part.split("\n", 1) for part in page.split("\n.SH ")[1:])
            for section, command in sections.items():
                options = options_of(tool, command)
                self.assertGreater(len(options), 6)
                described = re.findall(r"(?m)^\.B \\-\\-(\S+)(?: \S+(?: \.\.\.)?)?\n(.+)$", parts[section])
                self.assertEqual(["--" + name.replace("\\-", "-") for name, _ in described], list(options), f"{tool} {command}")
                self.assertTrue(all(len(text) > 4 for _, text in described))

    @unittest.skipUnless(shutil.which("groff"), "needs groff")
    def test_roff(self):
        """Pages render without warnings, and characters as in --help."""
        for tool in TOOLS:
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-rLL=200n", "-P-cbou", PAGES / f"{tool}.1"], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "SEE ALSO"):
                self.assertRegex(done.stdout, rf"(?m)^{section}$")
            shown = " ".join(done.stdout.split())
            first = TOOLS[tool][0]
            for line in re.findall(r"(?m)^  --[\w-]+(?: \S+)?  +(\S+ \S+)", printed(tool, *first.split(), "--help")):
                self.assertIn(line, shown, tool)


class Completion(unittest.TestCase):
    def complete(self, line):
        """What bash offers at the end of a command line, in which it also separates words at "="."""
        tool = line.split()[0]
        words = re.sub("=", " = ", line).split() + [""] * line.endswith((" ", "="))
        if line.endswith("="):
            words.pop()
        script = (f"source {shlex.quote(str(PAGES / tool))}.bash; COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}; "
                  'compopt() { COMPREPLY=("compopt $*"); mapfile() { :; }; }; '
                  f'complete -p {tool} | grep -q "default" || exit 1; $(complete -p {tool} | sed "s/.*-F \\(\\S*\\) .*/\\1/"); '
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""), line)
        return done.stdout.split()

    def test_script_is_what_the_tool_prints(self):
        for tool in TOOLS:
            self.assertEqual((PAGES / f"{tool}.bash").read_text(), printed(tool, "--completion"))

    def test_commands(self):
        self.assertEqual(self.complete("cosmo-sim "), ["generate", "inspect", "noise", "--help", "--version", "--man", "--completion"])
        self.assertEqual(self.complete("cosmo-prep ex"), ["export"])
        self.assertEqual(self.complete("cosmo-infer e"), ["export"])
        self.assertEqual(self.complete("cosmo-infer --quiet e"), [])

    def test_options(self):
        for tool, commands in TOOLS.items():
            for command in commands:
                before = f"{tool} {command}".strip()
                self.assertEqual(self.complete(f"{before} --quiet --"), list(options_of(tool, command)), before)
        self.assertEqual(self.complete("cosmo-train --learning"), ["--learning-rate"])

    def test_values(self):
        products = ["counts", "particles", "initial", "velocity", "web", "power-spectrum", "correlation-function", "bispectrum", "no-power-spectrum"]
        self.assertEqual(self.complete("cosmo-sim generate --save "), products)
        self.assertEqual(self.complete("cosmo-sim generate --save=p"), ["particles", "power-spectrum"])
        self.assertEqual(self.complete("cosmo-sim generate --save="), products)
        self.assertEqual(self.complete("cosmo-sim generate --save counts,bi"), ["counts,bispectrum"])
        self.assertEqual(self.complete("cosmo-sim generate --save=counts,particles,p"),
                         ["counts,particles,particles", "counts,particles,power-spectrum"])
        self.assertEqual(self.complete("cosmo-infer export --format "), ["onnx"])
        self.assertEqual(self.complete("cosmo-train --data "), [], "the names of files")
        self.assertEqual(self.complete("cosmo-train --epochs "), ["compopt", "+o", "default"], "nothing")
        self.assertIn("cosmoflow", self.complete("cosmo-train --network "))
        self.assertEqual(self.complete("cosmo-train --network F"), [], "the names of files")
        self.assertEqual(self.complete("cosmo-prep verify "), [], "the names of directories")
        self.assertIn("--quiet", self.complete("cosmo-prep verify -"))

    def test_values_are_those_that_the_tools_take(self):
        """A tool that refuses a value lists the same names."""
        for line in ("cosmo-prep export --input data --output new --format", "cosmo-infer --model none --data none --output new --split"):
            tool, *words = line.split()
            refused = subprocess.run([BIN / tool, *words, "nonsense"], env=ENVIRONMENT, capture_output=True, text=True)
            self.assertEqual(refused.returncode, 2, refused.stderr)
            offered = self.complete(line + " ")
            self.assertGreater(len(offered), 1)
            for name in offered:
                self.assertIn(name, refused.stderr)


if __name__ == "__main__":
    unittest.main()
