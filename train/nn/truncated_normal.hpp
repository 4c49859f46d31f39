#pragma once

namespace cosmo::nn {

/// A standard normal variable z restricted to low < z < high.
struct TruncatedNormal {
  double log_mass;  ///< log of the probability that z lies in the interval
  double mean;      ///< of z, given that it does
  double square;    ///< mean of z², likewise
};

/// Of any interval, also one far in a tail, where the probability underflows.
TruncatedNormal truncated_normal(double low, double high);

}  // namespace cosmo::nn
