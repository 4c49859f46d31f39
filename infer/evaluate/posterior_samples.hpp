#pragma once
// --samples: draws from the posteriors of universes, for other programs.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/output/output_directory.hpp"
#include "core/run/options.hpp"
#include "dataset/measure/prediction_table.hpp"
#include "infer/predict/distribution.hpp"

namespace cosmo::infer {

/// Declares --samples.
void declare_samples(core::Options& options);

/// The number of draws for each universe that --samples asks for, 0 without it. Throws Error{config} naming a model without a
/// posterior.
std::size_t read_samples(const core::Options& options, const std::vector<std::string>& directories,
                         Models models);

/// A universe to draw for.
struct SampledUniverse {
  std::uint32_t number;  ///< draws are a pure function of it and the posterior; also in the names of chains
  const LabelDensity* density;
};

/// Draws (draws, P) from the posterior of a universe, physical units.
std::vector<double> draw_physical(const SampledUniverse& universe, const core::ParameterSpace& space,
                                  std::size_t draws);

/// The row whose predicted deviations are closest to the medians over all rows, each in units of its median.
std::size_t typical_row(const dataset::PredictionTable& universes);

/// Bytes that publish_samples() writes.
std::uint64_t samples_bytes(std::size_t universes, std::size_t draws, std::size_t parameters);
/// Memory that it takes.
std::uint64_t samples_memory(std::size_t draws, std::size_t parameters);

/// Publishes samples.h5: /samples float64 (universes, draws, P) in physical units, /log_density (universes, draws)
/// at each, likewise, /universes their numbers, attribute parameter_names; and chains/universe_NUMBER.txt with .paramnames and .ranges, as GetDist reads them. Collective.
void publish_samples(core::OutputDirectory& output, const core::ParameterSpace& space,
                     std::span<const SampledUniverse> universes, std::size_t draws);

}  // namespace cosmo::infer
