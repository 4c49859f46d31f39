#!/usr/bin/python3
"""Times a training step of cosmo-train and of PyTorch on the same network, in turn, and prints the ratio.

PyTorch runs with each of its layouts, in a separate process; its best one counts. Needs Debian's python3-torch, and
libopenblas0 for a fair comparison (without it PyTorch uses the reference BLAS for matrix products: the script reports
which one it found). With --device cuda PyTorch runs on a GPU, by cuDNN without TF32, and cosmo-train on the cores beside it.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

LAYOUTS = ["default", "channels_last_3d", "mkldnn"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", choices=["cosmoflow", "mlperf", "reconet"], default="cosmoflow")
    parser.add_argument("--precision", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--batch", type=int, default=1, help="samples per step (1)")
    parser.add_argument("--size", type=int, default=128, help="voxels per side (128)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="threads of either program (all cores)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each, in turn; medians are printed (3)")
    parser.add_argument("--seconds", type=float, default=3, help="seconds of timed steps per run of cosmo-train (3)")
    parser.add_argument("--steps", type=int, default=3, help="timed steps per PyTorch run, after an untimed one (3)")
    parser.add_argument("--layouts", nargs="+", choices=LAYOUTS, default=LAYOUTS, help="layouts of PyTorch's tensors (all)")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="where PyTorch runs (cpu)")
    parser.add_argument("--cosmo-train", default="build/release/bin/cosmo-train", help="the program (%(default)s)")
    parser.add_argument("--worker", choices=LAYOUTS, help=argparse.SUPPRESS)  # one PyTorch run
    return parser.parse_args()


def make_network(torch, name, size, layout):
    """The network, its number of input channels and its number of outputs."""
    nn = torch.nn

    class LeakyReLU(nn.Module):
        """A leaky ReLU, in place where possible; for mkldnn tensors PyTorch has only a ReLU, from which it is made."""

        def __init__(self, slope):
            super().__init__()
            self.slope = slope

        def forward(self, x):
            if x.is_mkldnn:
                return torch.relu(x) * (1 - self.slope) + x * self.slope
            return nn.functional.leaky_relu_(x, self.slope)

    class Flatten(nn.Module):
        def forward(self, x):
            return (x.to_dense() if x.is_mkldnn else x).flatten(1)

    class ScaledTanh(nn.Module):
        def forward(self, x):
            return 1.2 * torch.tanh(x)

    layers, channels = [], {"cosmoflow": 1, "mlperf": 4}[name]
    if name == "cosmoflow":
        width, cells = channels, size
        for outputs, kernel, stride, pooled in [(16, 3, 1, True), (32, 4, 1, True), (64, 4, 1, True), (128, 3, 2, False),
                                                (256, 3, 1, False), (256, 2, 1, False), (256, 2, 1, False)]:
            layers += [nn.Conv3d(width, outputs, kernel, stride), LeakyReLU(0.01)] + pooled * [nn.AvgPool3d(2)]
            width, cells = outputs, ((cells - kernel) // stride + 1) // (2 if pooled else 1)
        layers += [Flatten(), nn.Linear(width * cells**3, 2048), LeakyReLU(0.01), nn.Linear(2048, 256), LeakyReLU(0.01),
                   nn.Linear(256, 3)]
    else:
        width = channels
        for outputs in (32, 64, 128, 256, 512):
            layers += [nn.Conv3d(width, outputs, 3, padding=1), LeakyReLU(0.3), nn.MaxPool3d(2)]
            width = outputs
        layers += [Flatten(), nn.Linear(width * (size // 32)**3, 128), LeakyReLU(0.3), nn.Dropout(0.5), nn.Linear(128, 64),
                   LeakyReLU(0.3), nn.Dropout(0.5), nn.Linear(64, 4), ScaledTanh()]
    network = nn.Sequential(*layers)
    if layout == "channels_last_3d":
        network = network.to(memory_format=torch.channels_last_3d)
    return network, channels, {"cosmoflow": 3, "mlperf": 4}[name]


def make_unet(torch):
    """reconet: four levels with periodic convolutions."""
    nn = torch.nn

    class UNet(nn.Module):
        def __init__(self, channels=(16, 32, 32, 32)):
            super().__init__()
            pair = lambda inputs, outputs: nn.ModuleList(
                nn.Conv3d(width, outputs, 3, padding=1, padding_mode="circular") for width in (inputs, outputs))
            self.down = nn.ModuleList(pair(inputs, outputs) for inputs, outputs in zip((1, *channels), channels))
            self.up = nn.ModuleList(pair(own + below, own) for own, below in zip(channels[:-1], channels[1:]))
            self.field = nn.Conv3d(channels[0], 1, 1)

        def forward(self, x):
            levels = []
            for level, convolutions in enumerate(self.down):
                x = x if level == 0 else nn.functional.avg_pool3d(x, 2)
                for convolution in convolutions:
                    x = nn.functional.leaky_relu(convolution(x), 0.01)
                levels.append(x)
            for level in reversed(range(len(self.up))):
                # PyTorch's resampling is not periodic: what it does at the faces costs the same.
                x = torch.cat([levels[level], nn.functional.interpolate(x, scale_factor=2, mode="trilinear")], 1)
                for convolution in self.up[level]:
                    x = nn.functional.leaky_relu(convolution(x), 0.01)
            return self.field(x)

    return UNet()


def layer_times(torch, step):
    """Times of each layer with weights in one step [ms], (forward, backward), from PyTorch's own profiler."""
    with torch.autograd.profiler.profile() as profile:
        step()
    events = sorted(profile.function_events, key=lambda event: event.time_range.start)

    def times(*names):
        return [event.cpu_time_total / 1e3 for event in events if event.name in names]

    found = {}
    for kind, forward, backward in (("conv", ("aten::conv3d",), ("aten::convolution_backward",)),
                                    ("dense", ("aten::linear",), ("AddmmBackward0",))):
        both = zip(times(*forward), reversed(times(*backward)))
        found.update({f"{kind}{i}": pair for i, pair in enumerate(both, 1)})
    return found


def work(options):
    """One PyTorch run; prints JSON."""
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(options.threads)
    if options.network == "reconet":
        network, channels, outputs = make_unet(torch), 1, (1, options.size, options.size, options.size)
        if options.worker == "channels_last_3d":
            network = network.to(memory_format=torch.channels_last_3d)
    else:
        network, channels, outputs = make_network(torch, options.network, options.size, options.worker)
        outputs = (outputs,)
    voxels = torch.randn(options.batch, channels, *3 * [options.size])
    if options.worker == "channels_last_3d":
        voxels = voxels.to(memory_format=torch.channels_last_3d)
    elif options.worker == "mkldnn":
        voxels = voxels.to_mkldnn()
    targets = torch.rand(options.batch, *outputs)
    on_gpu = options.device == "cuda"
    if on_gpu:
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.benchmark = True
        network, voxels, targets = network.cuda(), voxels.cuda(), targets.cuda()
    if options.network != "mlperf":
        optimizer, loss = torch.optim.Adam(network.parameters(), 2e-3), torch.nn.functional.l1_loss
    else:
        optimizer, loss = torch.optim.SGD(network.parameters(), 1e-3, momentum=0.9), torch.nn.functional.mse_loss

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(options.device, dtype=torch.bfloat16, enabled=options.precision == "bf16"):
            output = network(voxels)
        loss(output.float(), targets).backward()
        optimizer.step()
        if on_gpu:
            torch.cuda.synchronize()

    times = []
    for _ in range(options.steps + 1):
        start = time.perf_counter()
        step()
        times.append(1e3 * (time.perf_counter() - start))
    with open("/proc/self/maps") as maps:
        libraries = {os.path.basename(os.path.realpath(line.split()[-1])) for line in maps if "/" in line}
    print(json.dumps({"step_ms": statistics.median(times[1:]), "layers": {} if on_gpu else layer_times(torch, step),
                      "parameters": sum(parameter.numel() for parameter in network.parameters()),
                      "version": torch.__version__,
                      "blas": sorted(name for name in libraries if "blas" in name.lower() or "mkl_core" in name),
                      "onednn": sorted(name for name in libraries if ("cudnn" if on_gpu else "dnnl") in name)}))


def run(words, options):
    """The JSON that a program prints, or None after printing why there is none."""
    environment = dict(os.environ, OMP_NUM_THREADS=str(options.threads), OMP_WAIT_POLICY="active",
                       OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    done = subprocess.run(words, env=environment, capture_output=True, text=True)
    if done.returncode == 0:
        return json.loads(done.stdout)
    reason = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
    print(f"  not possible: {' '.join(words[-2:])}: {reason[:200]}", file=sys.stderr)
    return None


def print_layers(ours, theirs):
    print(f"  {'layer [ms]':<12}{'ours':>9} {'':>9}{'PyTorch':>12}\n"
          f"  {'':<12}{'forward':>9} {'backward':>9}{'forward':>12} {'backward':>9}")
    for layer in ours["layers"]:
        forward = layer["ms"]["forward"]
        backward = sum(layer["ms"].values()) - forward
        text = f"  {layer['layer']:<12}{forward:9.2f} {backward:9.2f}"
        if layer["layer"] in theirs["layers"]:
            text += "{:12.2f} {:9.2f}".format(*theirs["layers"][layer["layer"]])
        print(text)


def main():
    options = arguments()
    if options.worker:
        return work(options)
    ours_words = [options.cosmo_train, "--benchmark", str(options.seconds), "--json", "--quiet", "--size", str(options.size), "--threads",
                  str(options.threads), "--micro-batch", str(options.batch), "--network", options.network, "--precision",
                  options.precision]
    ours, theirs = [], {layout: [] for layout in options.layouts if options.device == "cpu" or layout != "mkldnn"}
    for _ in range(options.rounds):
        ours.append(run(ours_words, options))
        if ours[-1] is None:
            return 1
        for layout in list(theirs):
            found = run([sys.executable, *sys.argv, "--worker", layout], options)
            if found is None:
                del theirs[layout]
            else:
                theirs[layout].append(found)
    if not theirs:
        return 1

    def median_ms(results):
        return statistics.median(result["step_ms"] for result in results)

    assert all(result["parameters"] == ours[0]["parameters"] for results in theirs.values() for result in results)
    best = min(theirs, key=lambda layout: median_ms(theirs[layout]))
    sample, gflop = theirs[best][0], ours[0]["useful_gflop"] * options.batch
    print(f"{options.network}, {options.size}³, batch {options.batch}, {options.precision}, {options.threads} threads, "
          f"medians of {options.rounds} runs in turn")
    print(f"PyTorch {sample['version']} with {', '.join(sample['blas']) or 'no BLAS'} and {', '.join(sample['onednn'])}")
    peak = statistics.median(result["peak_gflops"] for result in ours)
    for name, ms in [("cosmo-train", median_ms(ours))] + [(f"PyTorch, {layout}", median_ms(theirs[layout]))
                                                          for layout in theirs]:
        rate = gflop / ms * 1e3
        print(f"  {name:<26}{ms:9.1f} ms {rate:9.1f} Gflop/s {100 * rate / peak:5.0f} % of the measured peak")
    print(f"  ratio to PyTorch's best ({best}): {median_ms(theirs[best]) / median_ms(ours):.2f}\n")
    print_layers(ours[-1], sample)
    return 0


if __name__ == "__main__":
    sys.exit(main())
