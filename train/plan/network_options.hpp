#pragma once
// The network that the options name, how it computes, and how its samples are cut.

#include <optional>

#include "core/named.hpp"
#include "core/run/options.hpp"
#include "nn/arithmetic.hpp"
#include "nn/census.hpp"
#include "nn/cut/cut_plan.hpp"
#include "nn/network_spec.hpp"
#include "train/gradient/sum_order.hpp"

namespace cosmo::train {

/// The network that --network names, from the zoo or a JSON file, with its --dropout. Throws Error.
nn::NetworkSpec read_network(const core::Options& options);

/// The precision that --precision names. Throws Error{usage} for other names, Error{config} if the CPU has no
/// units for it.
core::Named<nn::Precision> read_precision(const core::Options& options);
/// The method that --convolution names. Throws Error{usage} for other names.
core::Named<nn::ConvolutionMethod> read_convolution(const core::Options& options);
/// How a network computes with a precision and a method. Throws Error{config} if none of it can be filtered and
/// the method is `filtered`.
nn::Arithmetic arithmetic_of(const nn::NetworkSpec& network, const nn::NetworkCensus& census, int batch,
                             nn::Precision precision, nn::ConvolutionMethod method);

/// How samples are shared by ranks.
struct SampleCut {
  int ranks_per_sample = 1;
  std::optional<nn::CutPlan> plan;  ///< if there are several

  /// What a rank of a group computes of each sample; nothing if it computes all. This must outlive it.
  std::optional<nn::Share> share(const core::Communicator& group) const;
};

/// The cut that --ranks-per-sample names. Throws Error.
SampleCut read_cut(const core::Options& options, const nn::NetworkSpec& network,
                   const nn::NetworkCensus& census, nn::Shape input, int ranks, SumOrder order);

}  // namespace cosmo::train
