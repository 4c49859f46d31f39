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

/// Sums gradients over all ranks in an order that depends only on their number: the same bits on every rank
/// and in every run.
class GradientSum {
 public:
  /// comm must outlive this.
  GradientSum(const core::Communicator& comm, WireFormat wire) : comm_(comm), wire_(wire) {}

  /// Replaces `values` by their sum over ranks. Collective.
  void operator()(std::span<float> values);

 private:
  void sum_bfloat16(std::span<float> values);

  const core::Communicator& comm_;
  WireFormat wire_;
  std::vector<core::Bfloat16> all_;     ///< one piece for each rank to sum, then the sums
  std::vector<core::Bfloat16> pieces_;  ///< every rank's values of the piece that this rank sums
};

}  // namespace cosmo::train
