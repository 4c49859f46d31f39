#!/usr/bin/env python3
"""Measures from which size on filtered convolutions are faster than direct ones: the table in filtered_convolution.cpp.

Times the second of two convolutions in both methods, in turns, over volumes of many sizes, and prints the ratio of times
(filtered / direct, medians over rounds) for each phase by the number of tiles of 6³ cells per image.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

PHASES = ("forward", "weight gradient", "input gradient")


def network(kernel, inputs, outputs):
    """Two convolutions, the second of `inputs` to `outputs` channels; means; predictions."""
    convolution = {"kind": "convolution", "stride": 1, "padding": 0, "slope": 0.01}
    return {"name": "two", "input": "voxels", "layers": [
        {"name": "first", "inputs": ["voxels"], "outputs": inputs, "kernel": 3, **convolution},
        {"name": "second", "inputs": ["first"], "outputs": outputs, "kernel": kernel, **convolution},
        {"name": "means", "kind": "global_mean", "inputs": ["second"], "squares": False},
        {"name": "last", "kind": "dense", "inputs": ["means"], "outputs": 0, "slope": 1.0}]}


def times(tool, path, size, batch, method, seconds):
    """[ms] of each phase of the second convolution."""
    done = subprocess.run([tool, "--benchmark", str(seconds), "--network", path, "--size", str(size), "--micro-batch", str(batch),
                           "--convolution", method, "--json", "--quiet"], check=True, capture_output=True, text=True)
    layers = {layer["layer"]: layer["ms"] for layer in json.loads(done.stdout)["layers"]}
    return [layers["second"][phase] for phase in PHASES]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", metavar="BIN", help="directory of cosmo-train")
    parser.add_argument("--channels", default="16,32 64,64 128,256", help="pairs INPUTS,OUTPUTS (default: %(default)s)")
    parser.add_argument("--tiles", default="1 2 3 4 5", help="tiles along each side (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each method (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=3, help="seconds of each run (default: %(default)s)")
    options = parser.parse_args()
    tool = pathlib.Path(options.bin) / "cosmo-train"
    print("kernel channels tiles/image  " + "  ".join(f"{phase:>16}" for phase in PHASES) + "   (filtered / direct)")
    with tempfile.TemporaryDirectory() as directory:
        for kernel in (3, 4):
            for pair in options.channels.split():
                inputs, outputs = (int(number) for number in pair.split(","))
                path = pathlib.Path(directory) / f"{kernel}-{inputs}-{outputs}.json"
                path.write_text(json.dumps(network(kernel, inputs, outputs)))
                for tiles in (int(number) for number in options.tiles.split()):
                    size = tiles * (7 - kernel) + kernel + 1  # the input's; the first convolution takes two cells
                    batch = max(1, 64 // tiles**3)
                    rounds = [[times(tool, path, size, batch, method, options.seconds) for method in ("direct", "filtered")]
                              for _ in range(options.rounds)]
                    ratios = [statistics.median(filtered[i] / direct[i] for direct, filtered in rounds)
                              for i in range(len(PHASES))]
                    print(f"{kernel:6} {pair:>8} {tiles**3:11}  " + "  ".join(f"{ratio:16.2f}" for ratio in ratios), flush=True)


if __name__ == "__main__":
    main()
