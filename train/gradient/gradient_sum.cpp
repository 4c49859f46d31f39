#include "train/gradient/gradient_sum.hpp"

#include <algorithm>
#include <array>

#include "core/error.hpp"

namespace cosmo::train {

namespace {

/// Replaces the first `piece` values by the sums over all pieces.
void sum_pieces(std::span<core::Bfloat16> pieces, std::size_t piece) {
  constexpr std::size_t kBlock = 4096;  // fits the first-level cache
  std::array<float, kBlock> sums;
  for (std::size_t first = 0; first < piece; first += kBlock) {
    const std::size_t count = std::min(kBlock, piece - first);
    sums.fill(0);
    for (std::size_t start = first; start < pieces.size(); start += piece) {
      for (std::size_t i = 0; i < count; ++i) sums[i] += static_cast<float>(pieces[start + i]);
    }
    for (std::size_t i = 0; i < count; ++i) pieces[first + i] = core::Bfloat16(sums[i]);
  }
}

/// The same in a tree: neighbouring pieces first.
void sum_pieces_in_tree(std::span<float> pieces, std::size_t piece) {
  for (std::size_t apart = piece; apart < pieces.size(); apart *= 2) {
    for (std::size_t to = 0; to + apart < pieces.size(); to += 2 * apart) {
      for (std::size_t i = to; i < to + piece; ++i) pieces[i] += pieces[i + apart];
    }
  }
}

}  // namespace

void GradientSum::operator()(std::span<float> values) {
  if (order_ == SumOrder::tree)
    return sum_by_pieces(values, all_in_tree_, pieces_in_tree_, &sum_pieces_in_tree);
  if (wire_ == WireFormat::f32) return comm_.sum(values);
  sum_by_pieces(values, all_, pieces_, &sum_pieces);
}

/// Rank r sums the r-th piece, in rank order or a tree, and sends the sum to all.
template <class T, class SumPieces>
void GradientSum::sum_by_pieces(std::span<float> values, std::vector<T>& all, std::vector<T>& pieces,
                                const SumPieces& sum_pieces) {
  const auto ranks = static_cast<std::size_t>(comm_.size());
  const std::size_t piece = (values.size() + ranks - 1) / ranks;
  all.resize(ranks * piece);
  pieces.resize(ranks * piece);
  for (std::size_t i = 0; i < values.size(); ++i) all[i] = T(values[i]);
  std::fill(all.begin() + static_cast<std::ptrdiff_t>(values.size()), all.end(), T());
  const std::vector<int> counts(ranks, static_cast<int>(piece));
  comm_.all_to_all(all.data(), counts, pieces.data(), counts);
  sum_pieces(pieces, piece);
  comm_.all_gather(std::span<const T>(pieces).first(piece), std::span(all));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(all[i]);
}

}  // namespace cosmo::train
