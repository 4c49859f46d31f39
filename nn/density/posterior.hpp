#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nn/density/columns.hpp"
#include "nn/density/coordinates.hpp"
#include "nn/density/factor_network.hpp"
#include "nn/density/marginals.hpp"

namespace cosmo::nn {

/// A conditional density for one s, in label coordinates. It refers to nothing else.
class Posterior {
 public:
  /// The coordinates of s, and the members' networks with these inputs fixed; made by ConditionalDensity::at.
  Posterior(Coordinates coordinates, std::vector<double> x, std::vector<std::vector<FactorNetwork>> members,
            std::vector<double> widening);

  std::size_t parameters() const { return coordinates_.parameters(); }

  /// The natural logarithm of the density of theta (P); -infinity outside [-1, 1].
  double log_density(std::span<const double> theta) const;
  /// Independent draws `first` ... `first` + count - 1 (count, P). Each is a pure function of (seed, universe, its
  /// number), so that parts of a sample can be drawn anywhere. It chooses a member, then inverts each factor.
  std::vector<double> samples(std::uint64_t seed, std::uint32_t universe, std::size_t count,
                              std::uint32_t first = 0) const;
  /// Moments and marginals by quasi-Monte Carlo, some 3 ms for 3 parameters.
  Marginals marginals() const;

 private:
  Coordinates coordinates_;
  std::vector<double> x_;  ///< coordinates of s, and zeros for θ
  std::vector<std::vector<FactorNetwork>> members_;
  std::vector<double> widening_;
};

}  // namespace cosmo::nn
