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

/// Replaces the first `piece` values by the sums over all pieces in a tree: neighbouring pieces first.
void sum_pieces_in_tree(std::span<float> pieces, std::size_t piece) {
  for (std::size_t apart = piece; apart < pieces.size(); apart *= 2) {
    for (std::size_t to = 0; to + apart < pieces.size(); to += 2 * apart) {
      for (std::size_t i = to; i < to + piece; ++i) pieces[i] += pieces[i + apart];
    }
  }
}

}  // namespace

void GradientSum::operator()(std::span<float> values) {
  if (order_ == SumOrder::tree) return sum_in_tree(values);
  if (wire_ == WireFormat::f32) return comm_.sum(values);
  sum_in_bf16(values);
}

/// Rank r sums the r-th piece and sends the sum to all. What is left, fewer values than ranks, all sum.
void GradientSum::sum_in_tree(std::span<float> values) {
  const auto ranks = static_cast<std::size_t>(comm_.size());
  const std::size_t piece = values.size() / ranks;
  const std::span<float> even = values.first(ranks * piece), rest = values.last(values.size() % ranks);
  floats_.resize(ranks * std::max(piece, rest.size()));
  const std::span<float> pieces(floats_), of_all = pieces.first(even.size());
  const std::vector<int> counts(ranks, static_cast<int>(piece));
  if (piece > 0) {
    comm_.all_to_all(even.data(), counts, of_all.data(), counts);
    sum_pieces_in_tree(of_all, piece);
    comm_.all_gather(std::span<const float>(of_all.first(piece)), even);
  }
  if (rest.empty()) return;
  const std::span<float> rests = pieces.first(ranks * rest.size());
  comm_.all_gather(std::span<const float>(rest), rests);
  sum_pieces_in_tree(rests, rest.size());
  std::copy_n(rests.begin(), rest.size(), rest.begin());
}

/// Rank r sums the r-th piece in rank order and sends the sum to all.
void GradientSum::sum_in_bf16(std::span<float> values) {
  const auto ranks = static_cast<std::size_t>(comm_.size());
  const std::size_t piece = (values.size() + ranks - 1) / ranks;
  all_.resize(ranks * piece);
  pieces_.resize(ranks * piece);
  for (std::size_t i = 0; i < values.size(); ++i) all_[i] = core::Bfloat16(values[i]);
  std::fill(all_.begin() + static_cast<std::ptrdiff_t>(values.size()), all_.end(), core::Bfloat16());
  const std::vector<int> counts(ranks, static_cast<int>(piece));
  comm_.all_to_all(all_.data(), counts, pieces_.data(), counts);
  sum_pieces(pieces_, piece);
  comm_.all_gather(std::span<const core::Bfloat16>(pieces_).first(piece), std::span(all_));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(all_[i]);
}

}  // namespace cosmo::train
