#include "train/gradient/gradient_clip.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace cosmo::train {

void clip_gradient(std::span<float> gradient, double limit) {
  if (std::isinf(limit)) return;
  constexpr std::size_t kBlock = 8192;
  std::vector<double> squares((gradient.size() + kBlock - 1) / kBlock);
#pragma omp parallel for schedule(static)
  for (std::size_t b = 0; b < squares.size(); ++b) {
    double sum = 0;
    for (const float value : gradient.subspan(b * kBlock, std::min(kBlock, gradient.size() - b * kBlock)))
      sum += static_cast<double>(value) * static_cast<double>(value);
    squares[b] = sum;
  }
  double square = 0;
  for (const double sum : squares) square += sum;
  const double norm = std::sqrt(square);
  if (!(norm > limit) || !std::isfinite(norm)) return;
  const auto scale = static_cast<float>(limit / norm);
#pragma omp parallel for simd schedule(static)
  for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] *= scale;
}

}  // namespace cosmo::train
