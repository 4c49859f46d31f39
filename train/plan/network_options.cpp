#include "train/plan/network_options.hpp"

#include <bit>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "core/format/json.hpp"
#include "dataset/load/sample_groups.hpp"
#include "nn/network.hpp"
#include "nn/zoo/zoo.hpp"

namespace cosmo::train {

using core::ensure;
using core::Fault;

namespace {

nn::NetworkSpec read_named_network(const core::Options& options) {
  const std::string& name = options.text("network");
  if (!name.ends_with(".json")) {
    return nn::find_network(options.choice("network"));
  }
  const core::Json json = core::read_json(name);
  try {
    return json.get<nn::NetworkSpec>();
  } catch (const core::Error& error) {
    core::fail(error.fault(), "{} of --network: {}", name, error.what());
  }
}

}  // namespace

core::Named<nn::Precision> read_precision(const core::Options& options) {
  const core::Named<nn::Precision> precision = options.entry("precision", nn::kPrecisions);
  nn::ensure_units(precision.value);
  return precision;
}

core::Named<nn::ConvolutionMethod> read_convolution(const core::Options& options) {
  return options.entry("convolution", nn::kConvolutionMethods);
}

nn::Arithmetic arithmetic_of(const nn::NetworkSpec& network, const nn::NetworkCensus& census, int batch,
                             nn::Precision precision, nn::ConvolutionMethod method) {
  const bool in_bf16 = precision == nn::Precision::bf16;
  if (in_bf16 && method == nn::ConvolutionMethod::automatic && nn::bf16_units() == nn::Bf16Units::tiles)
    return precision;  // tiles are faster
  nn::FilteredPhases filtered = nn::choose_filtered(network, census, batch, method);
  if (in_bf16)  // a layer's tensors have one layout, so all its phases or none
    std::erase_if(filtered, [](const auto& layer) { return layer.second.size() < nn::kPhases.size(); });
  return {precision, std::move(filtered)};
}

std::optional<nn::Share> SampleCut::share(const core::Communicator& group) const {
  if (!plan) return std::nullopt;
  return nn::Share{*plan, group.rank(), &group};
}

SampleCut read_cut(const core::Options& options, const nn::NetworkSpec& network,
                   const nn::NetworkCensus& census, nn::Shape input, int ranks, SumOrder order) {
  const int shared = dataset::read_ranks_per_sample(options, ranks);
  ensure(order == SumOrder::layout || std::has_single_bit(static_cast<unsigned>(shared)), Fault::config,
         "--deterministic any needs a power of two of ranks per sample, not {}: change --ranks-per-sample.",
         shared);
  SampleCut cut{shared, {}};
  if (shared > 1) cut.plan.emplace(network, census, input, shared);
  return cut;
}

nn::NetworkSpec read_network(const core::Options& options) {
  nn::NetworkSpec network = read_named_network(options);
  if (options.given("baseline"))
    network.baseline = options.choice("baseline") == "none" ? "" : nn::kSummaryStatistics;
  return options.given("dropout") ? nn::with_dropout(network, options.number("dropout")) : network;
}

}  // namespace cosmo::train
