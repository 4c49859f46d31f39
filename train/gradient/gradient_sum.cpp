#include "train/gradient/gradient_sum.hpp"

#include <algorithm>
#include <array>

namespace cosmo::train {

namespace {

/// Values that are sent at a time, at most.
constexpr std::size_t kStretch = std::size_t{1} << 20;

/// Adds `count` pieces, which begin `distance` values apart, to the first one in a tree: neighbours, then pairs of them.
void sum_in_tree(float* pieces, std::size_t count, std::size_t distance, std::size_t piece) {
  for (std::size_t apart = 1; apart < count; apart *= 2) {
    for (std::size_t to = 0; to + apart < count; to += 2 * apart) {
      float* const sum = pieces + to * distance;
      const float* const other = sum + apart * distance;
      for (std::size_t i = 0; i < piece; ++i) sum[i] += other[i];
    }
  }
}

/// Number of values in the longest stretch: a multiple of the number of ranks.
std::size_t stretch_on(std::size_t ranks) { return std::max<std::size_t>(1, kStretch / ranks) * ranks; }

}  // namespace

GradientSum::GradientSum(const core::Communicator& comm, WireFormat wire, int ranks_per_group)
    : comm_(comm),
      wire_(wire),
      places_(static_cast<std::size_t>(ranks_per_group)),
      counts_(static_cast<std::size_t>(comm.size())) {}

std::size_t GradientSum::memory_bytes(std::size_t values, WireFormat wire) {
  return std::min(values, kStretch) * (wire == WireFormat::f32 ? sizeof(float) : 2 * sizeof(core::Bfloat16));
}

void GradientSum::operator()(std::span<float> values) {
  const std::size_t longest = std::min(values.size(), stretch_on(counts_.size()));
  for (std::size_t first = 0; first < values.size(); first += longest) {
    const std::span<float> stretch = values.subspan(first, std::min(longest, values.size() - first));
    if (wire_ == WireFormat::f32) {
      sum_stretch(stretch, pieces_);
    } else {
      rounded_.resize(stretch.size());
      std::ranges::transform(stretch, rounded_.begin(), [](float value) { return core::Bfloat16(value); });
      sum_stretch(std::span(rounded_), rounded_pieces_);
      std::ranges::transform(rounded_, stretch.begin(),
                             [](core::Bfloat16 value) { return static_cast<float>(value); });
    }
  }
}

/// Replaces the first `piece` values by the sums over all pieces, which are the ranks': see the class.
void GradientSum::sum_pieces(std::span<float> pieces, std::size_t piece) const {
  for (std::size_t place = 0; place < places_; ++place)
    sum_in_tree(pieces.data() + place * piece, counts_.size() / places_, places_ * piece, piece);
  sum_in_tree(pieces.data(), places_, piece, piece);
}

void GradientSum::sum_pieces(std::span<core::Bfloat16> pieces, std::size_t piece) const {
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

/// Rank r sums the r-th piece and sends the sum to all. What is left, fewer values than ranks, all sum.
template <class T>
void GradientSum::sum_stretch(std::span<T> values, std::vector<T>& pieces) {
  const std::size_t ranks = counts_.size(), piece = values.size() / ranks;
  const std::span<T> even = values.first(ranks * piece), rest = values.subspan(even.size());
  pieces.resize(std::max({pieces.size(), even.size(), ranks * rest.size()}));
  if (piece > 0) {
    const std::span<T> of_all = std::span(pieces).first(even.size());
    std::ranges::fill(counts_, static_cast<int>(piece));
    comm_.all_to_all(even.data(), counts_, of_all.data(), counts_);
    sum_pieces(of_all, piece);
    comm_.all_gather(std::span<const T>(of_all.first(piece)), even);
  }
  if (rest.empty()) return;
  const std::span<T> of_all = std::span(pieces).first(ranks * rest.size());
  comm_.all_gather(std::span<const T>(rest), of_all);
  sum_pieces(of_all, rest.size());
  std::ranges::copy(of_all.first(rest.size()), rest.begin());
}

}  // namespace cosmo::train
