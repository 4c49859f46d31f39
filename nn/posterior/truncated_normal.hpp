#pragma once

#include "core/random.hpp"

namespace cosmo::nn {

/// A standard normal variable z restricted to low < z < high.
struct TruncatedNormal {
  double log_mass;  ///< log of the probability that z lies in the interval
  double mean;      ///< mean of z, given that it does
  double square;    ///< mean of z², likewise
};

/// Handles any interval, also one far in a tail, where the probability underflows.
TruncatedNormal truncated_normal(double low, double high);

struct Interval {
  double low, high;
};

/// The part of an interval that contributes to a normal variable of this mean and deviation restricted to it:
/// where the density exceeds exp(-18) times its highest value there.
Interval core_of(Interval interval, double mean, double deviation);

/// Draws a normal variable of this mean and deviation, restricted to an interval, by rejection, from `stream`
/// at {index[0], index[1], index[2] + a multiple of 32 for each attempt}. One in 1 to 18 attempts succeeds.
double draw_normal(Interval interval, double mean, double deviation, const core::RandomStream& stream,
                   core::RandomStream::Index index);

}  // namespace cosmo::nn
