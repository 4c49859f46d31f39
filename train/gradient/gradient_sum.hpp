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
  bf16,  ///< half the bytes; every rank's gradient and the sum are rounded to 8 significant bits
};

inline constexpr std::array<core::Named<WireFormat>, 2> kWireFormats = {
    {{"f32", WireFormat::f32}, {"bf16", WireFormat::bf16}}};

/// Adds gradients of all ranks, in an order that only their number decides: the same bits on every rank and
/// in every run.
class GradientSum {
 public:
  /// comm must outlive this.
  GradientSum(const core::Communicator& comm, WireFormat wire) : comm_(comm), wire_(wire) {}

  /// Makes `values` the sum over ranks. Collective.
  void operator()(std::span<float> values);

 private:
  void sum_bfloat16(std::span<float> values);

  const core::Communicator& comm_;
  WireFormat wire_;
  std::vector<core::Bfloat16> all_;     ///< a piece for each rank to sum, and then the sums
  std::vector<core::Bfloat16> pieces_;  ///< every rank's values of the piece that this rank sums
};

}  // namespace cosmo::train
