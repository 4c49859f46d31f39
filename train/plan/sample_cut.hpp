#pragma once
// How ranks share samples, in a training or a benchmark.

#include <optional>

#include "core/run/options.hpp"
#include "nn/cut/cut_plan.hpp"
#include "train/gradient/sum_order.hpp"

namespace cosmo::train {

struct SampleCut {
  int ranks_per_sample = 1;
  std::optional<nn::CutPlan> plan;  ///< if there are several

  /// What a rank of a group computes of each sample; nothing if it computes all. This must outlive it.
  std::optional<nn::Share> share(const core::Communicator& group) const;
};

/// Declares --ranks-per-sample.
void declare_cut(core::Options& options);
/// The cut that it names. Throws Error.
SampleCut read_cut(const core::Options& options, const nn::NetworkSpec& network,
                   const nn::NetworkCensus& census, nn::Shape input, int ranks, SumOrder order);

}  // namespace cosmo::train
