#!/usr/bin/env bash
# Makes a set of old files: one of every kind that the tools write, for tests/pipeline/chain/test_old_files.py.
# Usage: make_old_files.sh TOOLS SET        (the directory of the four tools, and a directory that is not there yet)
#
#   tests/data/c06b980   made at commit c06b980 (0.1.0), release build with -march=native on a Sapphire Rapids
#
# A set is never made again: it is what that version wrote. docs/decisions/0013-old-files.md explains how to add one.
set -euo pipefail
tools=$(realpath "$1")
[[ -e $2 ]] && { echo "$2 is there: a set is made once" >&2; exit 1; }
mkdir -p "$2"
cd "$2"
PATH=$tools:$PATH  # so that run.json names tools without their directory

cat > sim.ini <<'END'
simulations = 6
omega-m = 0.25:0.35
sigma8 = 0.78:0.95
n-s = 0.9:1.0
box = 128
particles = 16
grid = 16
steps = 3
redshifts = 0,0.5
END
cat > prep.ini <<'END'
input = sim
samples-per-shard = 16
validation = 1
test = 2
END
cat > histogram.ini <<'END'
input = single/sim-00000/snapshot_z0.hdf5
grid = 8
END
cat > train.ini <<'END'
data = data
network = network.json
epochs = 3
global-batch = 8
learning-rate = 1e-2
END
cat > infer.ini <<'END'
data = data
split = test
END
cat > network.json <<'END'
{"name": "small", "input": "grid", "layers": [
  {"name": "conv1", "inputs": ["grid"], "kind": "convolution", "outputs": 4, "kernel": 3, "stride": 1, "padding": 0,
   "slope": 0.01},
  {"name": "pool1", "inputs": ["conv1"], "kind": "average_pool", "size": 2, "stride": 2},
  {"name": "pool2", "inputs": ["pool1"], "kind": "max_pool", "size": 2, "stride": 1},
  {"name": "dense1", "inputs": ["pool2"], "kind": "dense", "outputs": 6, "slope": 0.01},
  {"name": "tanh1", "inputs": ["dense1"], "kind": "tanh", "scale": 2.0},
  {"name": "drop1", "inputs": ["tanh1"], "kind": "dropout", "probability": 0.25},
  {"name": "labels", "inputs": ["drop1"], "kind": "dense", "outputs": 0, "slope": 1}]}
END

# Suites: of counts at two redshifts; of one universe with its particles; one of which a slice is there.
cosmo-sim generate --config sim.ini --output sim
cosmo-sim generate --box 64 --particles 8 --grid 8 --steps 3 --redshifts 0,0.5 --save both --seed 9 --output single
cosmo-sim generate --config sim.ini --simulations 2 --particles 8 --grid 4 --box 64 --select 0:1 --output slice
cosmo-prep histogram --config histogram.ini --output histogram

# Datasets: plain; of two channels, rolled and compressed; of fields, imported from the arrays that are not rolled.
cosmo-prep shard --config prep.ini --output data
cosmo-prep shard --config prep.ini --grid 8 --subvolumes 1 --redshifts 0,0.5 --rolls 1 --compress gzip --output channels
cosmo-prep export --input channels --format npy --output npy
cosmo-prep export --input channels --format tfrecord --output tfrecord
awk -F, -v OFS=, 'NR == 1 || $7 == 0 {print $1, $2, $4, $12, $13, $14}' npy/samples.csv > fields.csv
cosmo-prep import --input npy --format npy --samples fields.csv --box 128 --redshifts 0,0.5 --voxels field \
  --output fields

# Models: finished; the same training stopped in its second epoch, by runs of a step or a validation each; of another
# optimizer and seed; of Gaussians; of two channels.
cosmo-train --config train.ini --output model
for _ in 1 2 3 4 5; do cosmo-train --config train.ini --time-limit 0 --output stopped; done
cosmo-train --config train.ini --optimizer sgd --seed 2 --output sgd
cosmo-train --config train.ini --loss gaussian --output gaussian
cosmo-train --config train.ini --data channels --global-batch 2 --voxels mean --output two-channels
cosmo-infer --config infer.ini --model model --output predictions
cosmo-infer --config infer.ini --model gaussian --baselines centre --output posteriors
cosmo-infer export --format onnx --model model --output onnx

# What the tools printed about these files.
mkdir said
cosmo-sim inspect sim/sim-00000/counts_z0.h5 --json > said/counts.json
cosmo-sim inspect single/sim-00000/snapshot_z0.5.hdf5 --json > said/snapshot.json
cosmo-prep describe data --json > said/data.json
cosmo-infer --model model --input single/sim-00000/snapshot_z0.hdf5 --json > said/universe.json
cosmo-infer --model two-channels --input sim/sim-00002 --json > said/two-channels.json

find . -name .lock -delete  # later versions do not read who held them
find . -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort | xargs sha256sum > SHA256SUMS
