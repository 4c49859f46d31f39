"""What the tests of cosmo-prep's commands share. Their scripts are called with: COSMO_PREP MAKE_SUITE FAULTS"""
import os
import subprocess
import sys

PREP, MAKE_SUITE, FAULTS = sys.argv[1:4]  # the last a library to preload


def prep(*arguments, ranks=1, code=0, environment=None, warnings=False):
    """Runs cosmo-prep; returns its standard output, or its one line of error, after the warnings, if a code is expected."""
    launcher = [] if ranks == 1 else ["mpirun", "-n", str(ranks), "--bind-to", "none"]
    result = subprocess.run(launcher + [PREP, *arguments], capture_output=True, text=True, timeout=120,
                            env=dict(os.environ, **(environment or {})))
    assert result.returncode == code, (arguments, result)
    if code == 0:
        return result.stdout
    lines = [line for line in result.stderr.splitlines() if line.startswith("cosmo-prep: error: ")]
    assert len(lines) == 1 and result.stdout == "", result
    told = [line for line in result.stderr.splitlines() if "warning: " in line] if warnings else []
    return "\n".join(told + lines)


def fails_alike(*arguments, code, says):
    """The same sentence from one rank and from two."""
    line = prep(*arguments, code=code)
    for word in says:
        assert word in line, (word, line)
    assert prep(*arguments, ranks=2, code=code) == line


def content(directory):
    """Bytes of every file but those that tell of the run."""
    files = {}
    for folder, _, names in os.walk(directory):
        for name in names:
            if name not in ("run.json", ".lock"):
                path = os.path.join(folder, name)
                files[os.path.relpath(path, directory)] = open(path, "rb").read()
    return files


def flip(path, position):
    with open(path, "r+b") as file:
        file.seek(position)
        byte = file.read(1)[0]
        file.seek(position)
        file.write(bytes([byte ^ 1]))
