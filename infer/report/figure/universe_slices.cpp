#include "infer/report/figure/universe_slices.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "dataset/measure/slice.hpp"

namespace cosmo::infer {

using dataset::Slice;

namespace {

constexpr std::size_t kUniverses = 4;
constexpr int kSmallestImage = 256;  // pixels per side

/// The sample's first channel, projected.
Slice slice_of(dataset::SplitReader& reader, std::uint32_t sample, int depth) {
  const dataset::SampleSpec& spec = reader.spec();
  std::vector<float> voxels(spec.input.voxels());
  if (spec.input.kind == dataset::VoxelKind::counts) {
    std::vector<std::uint16_t> counts(spec.input.voxels());
    reader.read(sample, counts);
    std::ranges::transform(counts, voxels.begin(),
                           [&](std::uint16_t n) { return static_cast<float>(n / spec.mean_count); });
  } else {
    reader.read(sample, voxels);
  }
  const std::size_t channel = spec.input.voxels() / static_cast<std::size_t>(spec.input.channels());
  return dataset::project(std::span(voxels).first(channel), spec.side(), depth);
}

/// Slices (cuts, cuts) of neighbours, y slowest, as one.
Slice joined(const std::vector<Slice>& parts, int cuts) {
  const int side = parts.front().side;
  Slice whole{side * cuts, std::vector<double>(static_cast<std::size_t>(side * side * cuts * cuts))};
  for (int y = 0; y < whole.side; ++y) {
    for (int z = 0; z < whole.side; ++z) {
      const Slice& part = parts[static_cast<std::size_t>(y / side * cuts + z / side)];
      whole.values[static_cast<std::size_t>(y * whole.side + z)] =
          part.values[static_cast<std::size_t>(y % side * side + z % side)];
    }
  }
  return whole;
}

/// Cuts per side if sub-volumes are all cuts of a box, else 1.
int cuts_a_side(std::uint32_t subvolumes) {
  const int cuts = static_cast<int>(std::lround(std::cbrt(subvolumes)));
  return static_cast<std::uint32_t>(cuts * cuts * cuts) == subvolumes ? cuts : 1;
}

}  // namespace

std::vector<std::size_t> choose_universes(const dataset::PredictionTable& universes, std::size_t& parameter) {
  const auto& names = universes.parameters.names;
  const auto sigma8 = std::ranges::find(names, "sigma8");
  parameter = sigma8 == names.end() ? 0 : static_cast<std::size_t>(sigma8 - names.begin());
  std::vector<std::size_t> order(universes.rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t u) { return universes.rows[u].truth[parameter]; });
  if (order.size() <= kUniverses) return order;
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < kUniverses; ++i)
    chosen.push_back(order[i * (order.size() - 1) / (kUniverses - 1)]);
  return chosen;
}

UniverseSlices draw_universes(dataset::SplitReader& reader, const dataset::PredictionTable& subvolumes,
                              const std::vector<std::uint32_t>& simulations, std::uint32_t cuts) {
  const dataset::SampleSpec& spec = reader.spec();
  const int a_side = cuts_a_side(cuts), depth = std::max(1, spec.side() / 8);
  std::vector<Slice> slices;
  for (const std::uint32_t simulation : simulations) {
    std::map<int, std::uint32_t> samples;  // by number of the sub-volume, 4i + 2j + k for two cuts
    for (std::uint32_t i = 0; i < subvolumes.rows.size(); ++i) {
      const dataset::PredictionRow& row = subvolumes.rows[i];
      if (row.simulation == simulation && row.roll == 0) samples.emplace(row.subvolume, i);
    }
    std::vector<Slice> parts;
    for (const auto& [number, sample] : samples) {
      if (static_cast<int>(parts.size()) < a_side * a_side) parts.push_back(slice_of(reader, sample, depth));
    }
    slices.push_back(joined(parts, a_side));
  }
  const dataset::ColourScale colours = dataset::colour_scale(slices);
  UniverseSlices drawn{{},
                       colours.low,
                       colours.high,
                       colours.logarithmic,
                       spec.box_size.value * a_side,
                       spec.voxel_size().value * depth};
  for (const Slice& slice : slices) {
    const int scale = std::max(1, (kSmallestImage + slice.side - 1) / slice.side);
    drawn.images.push_back(dataset::image_of(slice, colours, scale));
  }
  return drawn;
}

}  // namespace cosmo::infer
