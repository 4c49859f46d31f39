#pragma once
// The sums over samples that a normalisation needs.

#include <span>
#include <vector>

#include "nn/network.hpp"

namespace cosmo::nn {

/// Sums of x and of x × y over rows of F values each, in double.
class MomentSums {
 public:
  explicit MomentSums(std::size_t features) : sums_(2 * features) {}

  /// Adds the first `rows` rows of x and y (at least rows, F).
  void add(std::span<const float> x, std::span<const float> y, int rows);

  std::size_t features() const { return sums_.size() / 2; }
  double first(std::size_t f) const { return sums_[f]; }
  double second(std::size_t f) const { return sums_[features() + f]; }

 private:
  std::vector<double> sums_;  ///< (2, F), of x and then of x × y
};

/// Sets mean and deviation from the sums of values and their squares over `count` samples. The variance
/// (divided by count) is increased by 1e-10, so that a value that does not vary is normalised to 0.
void set_statistics(const Normalisation& normalisation, const MomentSums& sums, double count);

/// Sets the means that backward_trunk() needs from the sums of d_normalised and d_normalised × normalised.
void set_mean_gradients(const Normalisation& normalisation, const MomentSums& sums, double count);

}  // namespace cosmo::nn
