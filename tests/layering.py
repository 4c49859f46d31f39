#!/usr/bin/env python3
"""Fails on any #include that ARCHITECTURE does not allow: between rooms, and of third-party headers."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Which rooms a room may include; every room may include itself.
ROOMS = {
    "core": set(),
    "core/fourier": {"core"},
    "sim": {"core", "core/fourier"},
    "histogram": {"core", "core/fourier"},
    "dataset": {"histogram", "core", "core/fourier"},
    "train/nn": {"core", "core/fourier"},
    "train": {"train/nn", "dataset", "core", "core/fourier"},
    "infer": {"train/nn", "dataset", "histogram", "core", "core/fourier"},
}

# A tool's own files compose rooms further.
TOOLS = {
    "sim/cosmo_sim.cpp": {"histogram"},
    "sim/cosmo_sim_inspect.cpp": {"histogram"},
    "sim/suite_cost.cpp": {"histogram"},
    "sim/universe.cpp": {"histogram"},
}

# Third-party headers and the rooms that may see them; "*" is every room.
THIRD_PARTY = {
    r"fmt/": {"*"},
    r"nlohmann/json_fwd": {"*"},
    r"nlohmann/": {"core"},  # whose core/json.hpp says how whole numbers are read
    r"omp\.h": {"*"},
    r"mpi\.h": {"core"},
    r"hdf5\.h": {"core"},
    r"boost/program_options": {"core"},
    r"Random123/": {"core"},
    r"openssl/": {"core"},
    r"zlib\.h": {"core"},
    r"png\.h": {"core"},
    r"fftw3\.h": {"core/fourier"},
    r"boost/(math|numeric|random)/": {"sim"},
    r"(oneapi/dnnl/)?dnnl": {"train/nn"},
    r"immintrin\.h": {"core", "dataset", "train", "train/nn"},
    r"Eigen/": {"dataset", "infer"},
    r"version_facts\.hpp": {"core"},
}

POSIX = {"fcntl.h", "sched.h", "signal.h", "sys/file.h", "sys/mman.h", "sys/prctl.h", "sys/resource.h", "sys/stat.h", "sys/syscall.h", "sys/wait.h",
         "unistd.h"}
STANDARD = re.compile(r"^[a-z_]+$")  # <vector>, <cstdint>, ...


def room_of(path):
    """The longest room that holds this path, or None."""
    fitting = [room for room in ROOMS if path == room or path.startswith(room + "/")]
    return max(fitting, key=len) if fitting else None


def allowed(source, room, header):
    """Whether the file `source` of `room` may include `header`."""
    target = room_of(header)
    if target:
        return target == room or target in ROOMS[room] | TOOLS.get(source, set())
    for pattern, rooms in THIRD_PARTY.items():
        if re.match(pattern, header):
            return "*" in rooms or room in rooms
    return bool(STANDARD.match(header)) or header in POSIX


def main():
    checked, faults = 0, []
    for path in sorted(ROOT.glob("**/*.[ch]pp")):
        source = path.relative_to(ROOT).as_posix()
        room = room_of(source)
        if room is None:
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
            if match:
                checked += 1
                if not allowed(source, room, match.group(1)):
                    faults.append(f"{source}:{number}: {room} may not include {match.group(1)}")
    # The rule itself must bite.
    assert not allowed("sim/x.cpp", "sim", "mpi.h") and not allowed("core/x.cpp", "core", "sim/lpt.hpp")
    assert not allowed("sim/lpt.cpp", "sim", "histogram/count_grid.hpp")
    print("\n".join(faults) or f"{checked} includes follow the rules")
    return 1 if faults or checked == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
