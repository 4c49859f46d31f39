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
/// and with every MPI. In f32 neighbouring ranks are added, then pairs of pairs, and so on; where ranks stand in groups, first
/// the ranks that have the same place in their groups, and then the places. In bf16 one after the other.
class GradientSum {
 public:
  /// comm must outlive this, and have a multiple of `ranks_per_group` ranks.
  GradientSum(const core::Communicator& comm, WireFormat wire, int ranks_per_group = 1);

  /// Replaces `values` by their sum over ranks. Collective.
  void operator()(std::span<float> values);

  /// Memory for a sum of this number of values on one of several ranks [bytes].
  static std::size_t memory_bytes(std::size_t values, WireFormat wire);

 private:
  template <class T>
  void sum_stretch(std::span<T> values, std::vector<T>& pieces);
  void sum_pieces(std::span<float> pieces, std::size_t piece) const;
  void sum_pieces(std::span<core::Bfloat16> pieces, std::size_t piece) const;

  const core::Communicator& comm_;
  WireFormat wire_;
  std::size_t places_;         ///< in a group
  std::vector<int> counts_;    ///< number of values sent to each rank
  std::vector<float> pieces_;  ///< every rank's values of the piece that this rank sums
  std::vector<core::Bfloat16> rounded_, rounded_pieces_;  ///< a stretch and such pieces in bf16
};

}  // namespace cosmo::train
