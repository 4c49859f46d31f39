#pragma once

namespace cosmo::nn {

/// The z below which a standard normal variable lies with this probability, 0 < probability < 1, to the precision of
/// Boost's erfc_inv.
double normal_quantile(double probability);

/// The probability that a standard normal variable restricted to low < z < high lies below z. Also right in the tails,
/// where the interval's probability underflows; 0 below `low`, 1 above `high`.
double cut_normal_cumulative(double low, double high, double z);

/// The inverse of cut_normal_cumulative in z, for a probability from 0 to 1; lies in [low, high].
double cut_normal_quantile(double low, double high, double probability);

}  // namespace cosmo::nn
