#pragma once
// Which convolutions of a network are computed by minimal filtering, and in which phases.

#include <array>
#include <map>
#include <set>
#include <string>

#include "core/format/json.hpp"
#include "nn/census.hpp"
#include "nn/network_spec.hpp"
#include "nn/phase.hpp"

namespace cosmo::nn {

/// How convolutions are computed: by each product of the definition (direct); by an eighth of them (filtered)
/// where the form of a layer permits it, which is the output of another layer as input, stride 1, kernels of
/// 3³ or 4³ cells, and channels in sixteens; or filtered where that is also faster (automatic), by a table of
/// measured limits.
enum class ConvolutionMethod { automatic, direct, filtered };

inline constexpr std::array<core::Named<ConvolutionMethod>, 3> kConvolutionMethods = {
    {{"auto", ConvolutionMethod::automatic},
     {"direct", ConvolutionMethod::direct},
     {"filtered", ConvolutionMethod::filtered}}};

/// Phases to filter, by the layer's name.
using FilteredPhases = std::map<std::string, std::set<Phase>>;

/// The choice for a network and `images` samples at once, the same on all CPUs whose vectors have the same width.
/// Throws Error{config} naming layers and reasons if the method is `filtered` and no convolution permits it.
FilteredPhases choose_filtered(const NetworkSpec& spec, const NetworkCensus& census, int images,
                               ConvolutionMethod method);

/// Which convolutions of a network do not permit filtering, and why: "conv1 reads the network's input, conv4 has stride 2,
/// not 1".
std::string obstacles_to_filtering(const NetworkSpec& spec, const NetworkCensus& census);

/// Throws Error{format} naming `source` unless all layers are convolutions of the network that can be filtered.
void ensure_filterable(const FilteredPhases& filtered, const NetworkSpec& spec, const NetworkCensus& census,
                       const std::string& source);

/// An object of lists, such as {"conv2": ["forward", "weight gradient"]}.
core::Json to_json(const FilteredPhases& filtered);
/// Throws Error{format} for other phases; call it inside reading_json().
FilteredPhases parse_filtered_phases(const core::Json& json);

}  // namespace cosmo::nn
