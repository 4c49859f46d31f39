#include "train/plan/sample_cut.hpp"

#include <bit>
#include <cstdint>
#include <string>

#include "core/error.hpp"
#include "dataset/load/sample_groups.hpp"

namespace cosmo::train {

namespace {

/// The value of --ranks-per-sample for that of --slabs: a rank could have several slabs of a sample.
std::string ranks_of_slabs(const core::Options& options) {
  core::ensure(options.choice("deterministic") == "any", core::Fault::usage,
               "Option --slabs applies only with --deterministic any: leave it out.");
  const std::int64_t slabs = options.integer("slabs", 1, 1 << 10),
                     ranks = options.integer("ranks-per-sample", 1, 1 << 16);
  core::ensure(
      slabs == ranks, core::Fault::config,
      "--slabs {0} is not the {1} of --ranks-per-sample, and several slabs on one rank are no longer supported: give "
      "--ranks-per-sample {0}, which also continues a stopped training of {0} slabs.",
      slabs, ranks);
  return std::to_string(slabs);
}

}  // namespace

std::optional<nn::Share> SampleCut::share(const core::Communicator& group) const {
  if (!plan) return std::nullopt;
  return nn::Share{*plan, group.rank(), &group};
}

void declare_cut(core::Options& options) {
  dataset::declare_ranks_per_sample(options, "Neither weights nor losses depend on it, except for rounding");
  options.add_former({"slabs N"}, "ranks-per-sample", "0.5", &ranks_of_slabs);
}

SampleCut read_cut(const core::Options& options, const nn::NetworkSpec& network,
                   const nn::NetworkCensus& census, nn::Shape input, int ranks, SumOrder order) {
  const int shared = dataset::read_ranks_per_sample(options, ranks);
  core::ensure(
      order == SumOrder::layout || std::has_single_bit(static_cast<unsigned>(shared)), core::Fault::config,
      "--deterministic any needs a power of two of ranks per sample, not {}: change --ranks-per-sample.",
      shared);
  SampleCut cut{shared, {}};
  if (shared > 1) cut.plan.emplace(network, census, input, shared);
  return cut;
}

}  // namespace cosmo::train
