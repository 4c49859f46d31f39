// HDF5 files by all of their readers. As the tools do, a child process opens a file first: HDF5's own code
// may crash.
#include "core/hdf5/hdf5.hpp"

#include <array>
#include <vector>

#include "core/hdf5/foreign.hpp"
#include "core/universe/snapshot.hpp"
#include "dataset/shard/dataset_manifest.hpp"
#include "dataset/shard/shard_reader.hpp"
#include "histogram/count_file.hpp"
#include "histogram/count_pack.hpp"
#include "histogram/particles/gadget_snapshot.hpp"
#include "nn/model/model_manifest.hpp"
#include "nn/model/model_posterior.hpp"
#include "tests/faults/fuzz/fuzz.hpp"
#include "train/optimizer/larc_adam.hpp"
#include "train/state/checkpoint.hpp"

namespace {

using namespace cosmo;

void read_counts(const std::filesystem::path& path) { histogram::CountFile(path).check_sum(); }

void read_pack(const std::filesystem::path& path) {
  const histogram::CountPack pack(path);
  for (const double redshift : pack.header().redshifts) {
    for (std::size_t row = 0; row < std::min<std::size_t>(pack.header().universes.size(), 8); ++row)
      fuzz::read_or_refuse([&] { histogram::CountFile(pack, row, redshift).check_sum(); });
  }
}

void read_snapshot(const std::filesystem::path& path) {
  const core::Snapshot snapshot(path);
  std::vector<float> values(3 * snapshot.header().particles);
  snapshot.read_positions(0, values);
  snapshot.read_velocities(0, values);
  std::vector<std::uint64_t> ids(snapshot.header().particles);
  snapshot.read_ids(0, ids);
}

void read_gadget(const std::filesystem::path& path) {
  const histogram::GadgetSnapshot snapshot(path, {});
  std::vector<float> positions(3 * std::min<std::uint64_t>(snapshot.particles(), 1 << 16));
  snapshot.read(0, std::span(positions));
  std::vector<double> masses(1);
  for (const histogram::ParticleSet& set : snapshot.counted()) {
    if (snapshot.has_masses(set)) snapshot.read_masses(set, 0, masses);
  }
}

void read_shard(const std::filesystem::path& path) {
  static const auto manifest = dataset::load_dataset_manifest(COSMO_TEST_DATA "/c06b980/data");
  const dataset::ShardReader shard(path, manifest.spec);
  std::vector<std::byte> voxels(manifest.spec.input.bytes());
  core::hdf5::ChunkReader chunks;
  for (std::size_t row = 0; row < shard.size(); ++row) {
    fuzz::read_or_refuse([&] { shard.tensor().read(row, std::span(voxels)); });
    fuzz::read_or_refuse([&] {
      if (const auto stored = shard.tensor().stored(row)) (void)chunks.read(path, stored->chunk, voxels);
    });
  }
}

void read_checkpoint(const std::filesystem::path& path) {
  static const auto model = nn::load_model_manifest(COSMO_TEST_DATA "/c06b980/model");
  static const int outputs = model.outputs();
  static nn::Network network(model.network, model.input, outputs, 1, nn::Mode::training);
  static train::LarcAdam optimizer(network.parameters(), {});
  (void)train::read_checkpoint(path, nn::with_outputs(model.network, outputs), {network, optimizer, nullptr},
                               {train::columns_of(model.output, false), model.parameters.size()});
}

/// A density of two parameters given three predictions, and the distance of three features (corpus/hdf5/posterior.h5).
void read_posterior(const std::filesystem::path& path) {
  const core::hdf5::File file = core::hdf5::File::open(path);
  const std::vector<double> three = {0.1, -2, 30};
  fuzz::read_or_refuse([&] {
    const auto density = nn::ConditionalDensity::read(file, path.string(), "of_universes", 3, 2);
    const nn::Posterior posterior = density.at(three);
    (void)posterior.marginals().quantile(0, 0.3);
    (void)posterior.samples(1, 2, 10);
    (void)density.log_density(three, std::vector<double>{0.5, -1});
  });
  fuzz::read_or_refuse([&] {
    const auto distance = nn::FeatureDistance::read(file, path.string(), "distance_of_universes");
    if (distance.width() == three.size()) (void)distance.of(three);
  });
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::array<std::filesystem::path, 1> path = {fuzz::file_of(data, size)};
  bool safe = false;
  fuzz::read_or_refuse([&] {
    core::try_in_child(path);
    safe = true;
  });
  if (!safe) return 0;
  for (const auto read : {&read_counts, &read_pack, &read_snapshot, &read_gadget, &read_shard,
                          &read_checkpoint, &read_posterior})
    fuzz::read_or_refuse([&] { read(path.front()); });
  return 0;
}
