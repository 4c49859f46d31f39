#include "infer/universe.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/hdf5.hpp"
#include "core/manifest.hpp"
#include "core/snapshot.hpp"
#include "histogram/coarse_counts.hpp"
#include "histogram/count_file.hpp"
#include "histogram/subvolumes.hpp"
#include "infer/distribution.hpp"

namespace cosmo::infer {

namespace {

/// The model's grid of the file's box: voxels of the file in one, a side, and cubes to cut it in.
struct Cutting {
  int factor;
  int cuts;
};

Cutting cutting_of(const nn::ModelManifest& model, const histogram::CountFileHeader& header,
                   const std::filesystem::path& path) {
  const core::Length trained = model.normalisation.voxel_size;
  const double voxel = header.grid.cell_size();  // Mpc/h
  const double expected = trained.mpc_h(header.cosmology.h);
  const int factor = static_cast<int>(std::clamp(std::round(expected / voxel), 1.0, 1e4));
  core::ensure(std::abs(voxel * factor / expected - 1) < 1e-6, core::Fault::config,
               "{} has voxels of {} Mpc/h and the model was trained on {} {}: count on another --grid.",
               path.string(), voxel, trained.value, name_of(trained.unit));
  core::ensure(
      model.redshifts == std::vector{header.redshift}, core::Fault::config,
      "{} is of z = {} and the model reads z = {}: give --data with such channels, or counts at that "
      "redshift.",
      path.string(), header.redshift, fmt::join(model.redshifts, ", "));
  const int cells = header.grid.cells_per_side, cube = factor * model.input.size;
  core::ensure(model.input.channels == 1 && cells % cube == 0, core::Fault::config,
               "{} has {}³ voxels and the model reads {} x {}³: give counts whose side is a multiple of {}.",
               path.string(), cells, model.input.channels, model.input.size, cube);
  return {factor, cells / cube};
}

}  // namespace

UniversePrediction predict_universe(Predictor& predictor, const std::filesystem::path& path) {
  const nn::ModelManifest& model = predictor.model();
  core::ensure(std::filesystem::is_regular_file(path), core::Fault::io,
               "{} of --input is no file: give the counts of one universe.", path.string());
  core::ensure(dataset::kind_of(predictor.transform()) == dataset::VoxelKind::counts, core::Fault::config,
               "The model was trained on fields and --input takes counts: give --data.");
  core::check_in_suite(path);
  core::ensure(core::hdf5::File::open(path).text_attribute("schema") != core::kSnapshotSchema,
               core::Fault::config,
               "{} is a snapshot and --input takes counts: give the counts_z0.h5 that cosmo-sim generate "
               "writes with --save counts or both.",
               path.string());
  const histogram::CountFile file(path);
  const auto [factor, cuts] = cutting_of(model, file.header(), path);
  file.check_sum();

  const int size = model.input.size;
  const histogram::Subvolumes regions(file.header().grid.cells_per_side / factor, cuts);
  const auto voxels_per_sample = static_cast<std::size_t>(model.input.elements());
  dataset::VoxelTable table(predictor.transform());
  std::vector<std::uint16_t> counts(voxels_per_sample);
  std::vector<float> voxels(voxels_per_sample * static_cast<std::size_t>(predictor.batch()), 0.0f);
  const auto outputs = static_cast<std::size_t>(model.outputs());
  std::vector<float> said;
  for (int n = 0; n < regions.count(); ++n) {
    histogram::read_coarse(file, factor, regions.origin(n), size, counts);
    const std::span<const float> lookup = table.for_sample(counts);
    for (std::size_t i = 0; i < counts.size(); ++i) voxels[i] = lookup[counts[i]];
    const std::span<const float> row = predictor.predict(voxels).first(outputs);
    said.insert(said.end(), row.begin(), row.end());
  }
  const Distribution universe = universe_distribution({&model, 1}, said);
  return {regions.count(), universe.prediction, universe.deviation,
          regions.count() == model.validation.subvolumes};
}

}  // namespace cosmo::infer
