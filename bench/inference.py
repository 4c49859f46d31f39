#!/usr/bin/env python3
"""Compares the rate of cosmo-infer's forward passes with that of cosmo-train --benchmark, measured in turn.

The model must have a network that --network can name.
Prints one line per turn: Gflop/s of both, their ratio, the share of time spent waiting for data, and memory; then the median
ratio, and the ratio of the best rates, which other programs disturb least.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile


def run(*words):
    done = subprocess.run([str(word) for word in words] + ["--json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", metavar="BIN", type=pathlib.Path, help="directory of the programs")
    parser.add_argument("model", metavar="MODEL", type=pathlib.Path, help="directory that cosmo-train wrote")
    parser.add_argument("data", metavar="DATA", type=pathlib.Path, help="directory that cosmo-prep shard wrote")
    parser.add_argument("split", metavar="SPLIT", nargs="?", default="test", help="split of the data (%(default)s)")
    parser.add_argument("turns", metavar="TURNS", nargs="?", type=int, default=3, help="number of turns (%(default)s)")
    options = parser.parse_args()
    manifest = json.loads((options.model / "manifest.json").read_text())
    shape = manifest["input"]
    ratios, best = [], [0, 0]
    for turn in range(options.turns):
        trained = run(options.bin / "cosmo-train", "--benchmark", "--network", manifest["network"]["name"], "--size",
                      shape["size"], "--channels", shape["channels"])
        with tempfile.TemporaryDirectory() as output:
            found = run(options.bin / "cosmo-infer", "--model", options.model, "--data", options.data, "--split", options.split,
                        "--output", pathlib.Path(output) / "predictions")["inference"]
        ratios.append(found["gflops"] / trained["forward_gflops"])
        best = [max(best[0], found["gflops"]), max(best[1], trained["forward_gflops"])]
        print(f"{turn + 1}: forward of the benchmark {trained['forward_gflops']:.0f} Gflop/s ({trained['forward_ms']:.1f} ms), "
              f"inference {found['gflops']:.0f} ({found['samples_per_second']:.2f} samples/s), ratio {ratios[-1]:.3g}; "
              f"waited {100 * found['waiting_seconds'] / found['seconds']:.1f} % for data; memory predicted "
              f"{found['memory_bytes_predicted'] / 1e6:.0f} MB, measured {found['peak_rss_bytes'] / 1e6:.0f} MB", flush=True)
    print(f"median ratio {statistics.median(ratios):.3g}, of the best {best[0] / best[1]:.3g}")


if __name__ == "__main__":
    main()
