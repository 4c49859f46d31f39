#include <algorithm>
#include <vector>

#include "core/error.hpp"
#include "nn/filtered_phases.hpp"
#include "nn/kernel/filtered_convolution.hpp"

namespace cosmo::nn {

using core::ensure;
using core::Fault;

namespace {

/// The layer as the kernels see it; unless it keeps the volume's size, a periodic padding is added to the input
/// beforehand.
FilteredConvolution filtered_form(const Convolution& layer, const LayerCensus& census, int images) {
  const bool copied = layer.periodic && census.input.size != census.output.size;
  const Axis axis = {census.input.size + (copied ? 2 * layer.padding : 0), copied ? 0 : layer.padding,
                     layer.periodic && !copied};
  return {images, census.input.channels, census.output.channels, layer.kernel, axis, axis};
}

/// Why a convolution cannot be filtered; empty if it can.
std::string obstacle(const Convolution& layer, const LayerCensus& census) {
  if (census.first) return "reads the network's input";
  const int inputs = census.input.channels, outputs = census.output.channels;
  if (layer.stride != 1) return fmt::format("has stride {}, not 1", layer.stride);
  if (layer.kernel != 3 && layer.kernel != 4)
    return fmt::format("has a kernel of {0}³ cells, not 3³ or 4³", layer.kernel);
  if (inputs % 16 != 0 || outputs % 16 != 0)
    return fmt::format("has {} to {} channels, not multiples of 16", inputs, outputs);
  return {};
}

/// The phases to filter of a layer that can be filtered.
std::set<Phase> phases_of(const FilteredConvolution& layer, ConvolutionMethod method) {
  std::set<Phase> phases;
  for (const auto& [name, phase] : kPhases) {
    if (method == ConvolutionMethod::filtered || is_worthwhile(layer, phase)) phases.insert(phase);
  }
  return phases;
}

}  // namespace

std::string obstacles_to_filtering(const NetworkSpec& spec, const NetworkCensus& census) {
  std::vector<std::string> obstacles;
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const auto* convolution = std::get_if<Convolution>(&spec.layers[i].kind);
    const std::string found = convolution == nullptr ? "" : obstacle(*convolution, census.layers[i]);
    if (!found.empty()) obstacles.push_back(spec.layers[i].name + " " + found);
  }
  return fmt::format("{}", fmt::join(obstacles, ", "));
}

FilteredPhases choose_filtered(const NetworkSpec& spec, const NetworkCensus& census, int images,
                               ConvolutionMethod method) {
  FilteredPhases filtered;
  if (method == ConvolutionMethod::direct) return filtered;
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const auto* convolution = std::get_if<Convolution>(&spec.layers[i].kind);
    if (convolution == nullptr || !obstacle(*convolution, census.layers[i]).empty()) continue;
    std::set<Phase> phases = phases_of(filtered_form(*convolution, census.layers[i], images), method);
    if (!phases.empty()) filtered[spec.layers[i].name] = std::move(phases);
  }
  if (method == ConvolutionMethod::filtered && filtered.empty()) {
    const std::string obstacles = obstacles_to_filtering(spec, census);
    core::fail(Fault::config, "Network {} cannot be filtered ({}): leave out --convolution filtered.",
               spec.name, obstacles.empty() ? "it has no convolution" : obstacles);
  }
  return filtered;
}

void ensure_filterable(const FilteredPhases& filtered, const NetworkSpec& spec, const NetworkCensus& census,
                       const std::string& source) {
  for (const auto& [name, phases] : filtered) {
    const auto layer = std::ranges::find(spec.layers, name, &Layer::name);
    const auto* convolution = layer == spec.layers.end() ? nullptr : std::get_if<Convolution>(&layer->kind);
    const std::string found =
        convolution == nullptr
            ? fmt::format("is not a convolution of network {}", spec.name)
            : obstacle(*convolution, census.layers[static_cast<std::size_t>(layer - spec.layers.begin())]);
    ensure(found.empty(), Fault::format,
           "{} names phases to filter of layer '{}', which {}: restore it, or train into another --output.",
           source, name, found);
  }
}

}  // namespace cosmo::nn
