#include "train/gradient_sum.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace cosmo::train {

WireFormat find_wire_format(std::string_view name) {
  if (name == "f32") return WireFormat::f32;
  core::ensure(name == "bf16", core::Fault::config, "Gradients cannot be sent as {}: use f32 or bf16.", name);
  return WireFormat::bf16;
}

void GradientSum::operator()(std::span<float> values) {
  if (wire_ == WireFormat::f32) return comm_.sum(values);
  sum_bfloat16(values);
}

/// Rank r sums the r-th piece, in f32 and rank order, and gives the rounded sum to all.
void GradientSum::sum_bfloat16(std::span<float> values) {
  const auto ranks = static_cast<std::size_t>(comm_.size());
  const std::size_t piece = (values.size() + ranks - 1) / ranks;
  all_.assign(ranks * piece, {});
  pieces_.resize(ranks * piece);
  std::ranges::transform(values, all_.begin(), [](float value) { return core::Bfloat16(value); });
  const std::vector<int> counts(ranks, static_cast<int>(piece));
  comm_.all_to_all(all_.data(), counts, pieces_.data(), counts);
  std::vector<core::Bfloat16> sums(piece);
  for (std::size_t i = 0; i < piece; ++i) {
    float sum = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) sum += static_cast<float>(pieces_[rank * piece + i]);
    sums[i] = core::Bfloat16(sum);
  }
  comm_.all_gather(std::span<const core::Bfloat16>(sums), std::span(all_));
  std::transform(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(values.size()), values.begin(),
                 [](core::Bfloat16 value) { return static_cast<float>(value); });
}

}  // namespace cosmo::train
