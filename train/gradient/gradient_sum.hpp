#pragma once

#include <array>
#include <span>
#include <vector>

#include "core/bfloat16.hpp"
#include "core/named.hpp"
#include "core/parallel/communicator.hpp"

namespace cosmo::train {

/// How gradients travel between ranks.
enum class WireFormat {
  f32,
  bf16,  ///< half the bytes; each rank's gradient and the sum are rounded to 8 significant bits
};

inline constexpr std::array<core::Named<WireFormat>, 2> kWireFormats = {
    {{"f32", WireFormat::f32}, {"bf16", WireFormat::bf16}}};

/// On what the order of a step's sum over samples depends.
enum class SumOrder {
  layout,  ///< on ranks and micro-batches
  tree,    ///< on nothing: pairs of neighbouring samples are added, then pairs of pairs, and so on
};

/// By the training that they make reproducible.
inline constexpr std::array<core::Named<SumOrder>, 2> kSumOrders = {
    {{"layout", SumOrder::layout}, {"any", SumOrder::tree}}};

/// Sums gradients over all ranks in an order that depends only on their number: the same bits on every rank
/// and in every run. In a tree it goes on with what each rank has summed of its samples.
class GradientSum {
 public:
  /// comm must outlive this. A tree needs f32.
  GradientSum(const core::Communicator& comm, WireFormat wire, SumOrder order = SumOrder::layout)
      : comm_(comm), wire_(wire), order_(order) {}

  /// Replaces `values` by their sum over ranks. Collective.
  void operator()(std::span<float> values);

 private:
  void sum_in_tree(std::span<float> values);
  void sum_in_bf16(std::span<float> values);

  const core::Communicator& comm_;
  WireFormat wire_;
  SumOrder order_;
  std::vector<core::Bfloat16> all_;     ///< one piece for each rank to sum, then the sums
  std::vector<core::Bfloat16> pieces_;  ///< every rank's values of the piece that this rank sums
  std::vector<float> floats_;           ///< the same in a tree
};

}  // namespace cosmo::train
