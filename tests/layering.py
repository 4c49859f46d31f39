#!/usr/bin/env python3
"""Fails on any #include that docs/reference/architecture.md does not allow, between folders and of third-party headers, and on folders that are too full."""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Rooms, each with its folders from the ground up: a folder may include those of its room that stand before it, ...
FOLDERS = {
    "core": ["cpu", "", "machine", "file", "parallel", "format", "hdf5", "output", "run", "universe", "picture", "fourier"],
    "sim": ["linear", "gravity", "voxels", "nbody", "suite", "plan", "", "product", "inspect", "tool"],
    "histogram": ["", "particles", "phases", "snapshot"],
    "dataset": ["quantity", "shard", "voxels", "load", "make", "exchange", "measure", "regression", "tool"],
    "nn": ["posterior", "density", "density/fit", "", "output", "kernel", "tensor", "cut", "build", "layer", "network", "zoo", "model"],
    "train": ["log", "optimizer", "gradient", "evaluate", "state", "prepare", "plan", "posterior", "loop", "benchmark", "tool"],
    "infer": ["predict", "doubt", "input", "evaluate", "baseline", "onnx", "report/figure", "report/page", "initial", "field", "report", "compare", "tool"],
}
# ... and any folder of these rooms.
ROOMS = {
    "core": set(),
    "sim": {"core"},
    "histogram": {"core"},
    "dataset": {"histogram", "core"},
    "nn": {"core"},
    "train": {"nn", "dataset", "core"},
    "infer": {"nn", "dataset", "histogram", "core"},
}
# A tool may compose rooms further, or folders of them.
TOOLS = {"infer/initial": {"sim/linear"}, "sim/voxels": {"histogram"}, "sim/product": {"histogram"}, "sim/inspect": {"histogram"}, "sim/tool": {"histogram"}}
# Folders that only their room may include, and tests.
PRIVATE = {"core": {"cpu"}, "nn": {"build", "kernel", "layer", "network", "tensor"}}
MOST_FILES = 22  # source files per folder

# Third-party headers and the folders that may see them, with those below; "*" is every room.
THIRD_PARTY = {
    r"fmt/": {"*"},
    r"nlohmann/json_fwd": {"*"},
    r"nlohmann/": {"core/format"},  # whose json.hpp defines how whole numbers are read
    r"omp\.h": {"*"},
    r"mpi\.h": {"core/parallel", "core/version.cpp"},
    r"hdf5\.h": {"core/hdf5", "core/version.cpp"},
    r"boost/program_options": {"core/run"},
    r"Random123/": {"core/random.cpp"},
    r"openssl/": {"core/file", "core/format"},
    r"zlib\.h": {"core/file", "core/hdf5"},
    r"isa-l/": {"core/file"},
    r"malloc\.h": {"core/machine/memory.cpp"},
    r"png\.h": {"core/picture"},
    r"fftw3\.h": {"core/fourier"},
    r"boost/(math|numeric|random)/": {"sim", "nn/density"},
    r"(oneapi/dnnl/)?dnnl": {"nn/tensor/onednn.hpp", "nn/precision.cpp"},
    r"immintrin\.h": {"dataset/voxels", "train/benchmark", "nn/kernel"},
    r"Eigen/": {"dataset/regression", "nn/density", "infer/baseline", "train/evaluate"},
    r"version_facts\.hpp": {"core/version.cpp"},
}

POSIX = {"fcntl.h", "sched.h", "signal.h", "sys/file.h", "sys/ioctl.h", "sys/mman.h", "sys/prctl.h", "sys/resource.h", "sys/stat.h", "sys/syscall.h", "sys/wait.h",
         "unistd.h"}
STANDARD = re.compile(r"^[a-z_]+$")  # <vector>, <cstdint>, ...


def place_of(path):
    """(room, folder in it) of a file, or None."""
    folder = path.rpartition("/")[0]
    for room in sorted(ROOMS, key=len, reverse=True):
        if folder == room or folder.startswith(room + "/"):
            return room, folder[len(room) + 1:]
    return None


def allowed(source, header):
    """Whether the file `source` may include `header`."""
    room, folder = place_of(source)
    target = place_of(header)
    if target:
        if target[0] != room:
            return target[1] not in PRIVATE.get(target[0], set()) and bool({target[0], "/".join(target)} & (ROOMS[room] | TOOLS.get(f"{room}/{folder}", set())))
        floors = FOLDERS[room]
        return floors.index(target[1]) <= floors.index(folder)
    for pattern, places in THIRD_PARTY.items():
        if re.match(pattern, header):
            return "*" in places or any(source == place or source.startswith(place + "/") for place in places)
    return bool(STANDARD.match(header)) or header in POSIX


def main():
    checked, faults, files = 0, [], collections.Counter()
    for path in sorted(ROOT.glob("**/*.[ch]pp")):
        source = path.relative_to(ROOT).as_posix()
        place = place_of(source)
        if place is None:
            continue
        if place[1] not in FOLDERS[place[0]]:
            faults.append(f"{source} stands in no folder that FOLDERS has")
            continue
        files[source.rpartition("/")[0]] += 1
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
            if match:
                checked += 1
                if not allowed(source, match.group(1)):
                    faults.append(f"{source}:{number}: may not include {match.group(1)}")
    others = [path.parent.relative_to(ROOT).as_posix() for folder in ("bench", "docs", "pipelines", "python", "tests")
              for path in ROOT.glob(f"{folder}/**/*.*") if path.suffix in (".cpp", ".hpp", ".py", ".sh")]
    for folder, number in (files + collections.Counter(others)).items():
        if number > MOST_FILES:
            faults.append(f"{folder} has {number} files: {MOST_FILES} at most, make folders")
    # The rule itself must bite.
    assert not allowed("sim/linear/x.cpp", "mpi.h") and not allowed("core/x.cpp", "sim/nbody/lpt.hpp")
    assert not allowed("sim/nbody/lpt.cpp", "histogram/count_grid.hpp") and not allowed("core/file/x.cpp", "core/format/json.hpp")
    assert allowed("infer/initial/x.cpp", "sim/linear/gaussian_field.hpp") and not allowed("infer/field/x.cpp", "sim/linear/gaussian_field.hpp")
    assert not allowed("infer/initial/x.cpp", "sim/plan/box.hpp") and allowed("train/loop/x.cpp", "nn/network.hpp") and not allowed("train/loop/x.cpp", "nn/tensor/tensor.hpp")
    print("\n".join(faults) or f"{checked} includes in {len(files)} folders follow the rules")
    return 1 if faults or checked == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
