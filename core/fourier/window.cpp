#include "core/fourier/window.hpp"

#include <cmath>
#include <cstddef>
#include <numbers>

namespace cosmo::fourier {

std::vector<double> inverse_square_window(int n, MassAssignment assignment) {
  std::vector<double> values(static_cast<std::size_t>(n / 2 + 1), 1.0);
  for (std::size_t i = 1; i < values.size(); ++i) {
    const double x = std::numbers::pi * static_cast<double>(i) / n;
    values[i] = std::pow(x / std::sin(x), 2 * static_cast<int>(assignment));
  }
  return values;
}

}  // namespace cosmo::fourier
