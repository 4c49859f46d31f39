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

/// Sums gradients over all ranks in an order that depends only on their number: the same bits on every rank, in every run
/// and with every MPI. In f32 neighbouring ranks are added, then pairs of pairs, and so on; in bf16 one after the other.
class GradientSum {
 public:
  /// comm must outlive this.
  GradientSum(const core::Communicator& comm, WireFormat wire);

  /// Replaces `values` by their sum over ranks. Collective.
  void operator()(std::span<float> values);

  /// Memory for a sum of this number of values on one of several ranks [bytes].
  static std::size_t memory_bytes(std::size_t values, WireFormat wire);

 private:
  template <class T>
  void sum_stretch(std::span<T> values, std::vector<T>& pieces);

  const core::Communicator& comm_;
  WireFormat wire_;
  std::vector<int> counts_;    ///< number of values sent to each rank
  std::vector<float> pieces_;  ///< every rank's values of the piece that this rank sums
  std::vector<core::Bfloat16> rounded_, rounded_pieces_;  ///< a stretch and such pieces in bf16
};

}  // namespace cosmo::train
