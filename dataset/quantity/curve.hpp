#pragma once
// What is done to the values of a field before they are standardised.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace cosmo::dataset {

/// A function of a voxel's value.
enum class Curve {
  none,   ///< the value itself
  log1p,  ///< log(1 + x), of values above -1
  log     ///< log(x), of positive values
};

/// Values must be above this. [-infinity if there is no limit]
double limit_of(Curve curve);
/// "values above -1", "positive values", for messages.
std::string_view domain_of(Curve curve);

/// The natural logarithm, to 2 units in the last place, in a form that compilers vectorise: S. Moshier's
/// polynomial of Cephes' logf. Not a number unless x is positive and finite; below the smallest normal number as
/// that.
inline float fast_log(float x) {
  constexpr std::int32_t kRootHalf = 0x3f3504f3, kLeast = 0x00800000;  // bits of sqrt(1/2), and of the least
  constexpr std::uint32_t kInfinity = 0x7f800000, kQuietNaN = 0x7fc00000;
  const auto given = std::bit_cast<std::int32_t>(x);
  const std::int32_t bits = given > kLeast ? given : kLeast;
  const std::int32_t exponent = (bits - kRootHalf) >> 23;
  const float m = std::bit_cast<float>(bits - exponent * (1 << 23)) - 1;
  const auto e = static_cast<float>(exponent);
  float y = 7.0376836292e-2f;
  y = y * m - 1.1514610310e-1f;
  y = y * m + 1.1676998740e-1f;
  y = y * m - 1.2420140846e-1f;
  y = y * m + 1.4249322787e-1f;
  y = y * m - 1.6668057665e-1f;
  y = y * m + 2.0000714765e-1f;
  y = y * m - 2.4999993993e-1f;
  y = y * m + 3.3333331174e-1f;
  const float square = m * m;
  y = y * m * square - 2.12194440e-4f * e - 0.5f * square;
  const float result = m + y + 0.693359375f * e;
  const std::uint32_t nan = static_cast<std::uint32_t>(given) - 1 < kInfinity - 1 ? 0 : kQuietNaN;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(result) | nan);
}

/// log(1 + x), with the digits that 1 + x loses.
inline float fast_log1p(float x) {
  const float sum = 1 + x;
  return fast_log(sum) + (x - (sum - 1)) / sum;
}

/// Calls write(i, value) for each value under the curve. Values outside of its domain become NaN.
template <class Write>
void for_each_under(Curve curve, std::span<const float> values, const Write& write) {
  const float* const from = values.data();
  const std::size_t size = values.size();
  switch (curve) {
    case Curve::none:
      for (std::size_t i = 0; i < size; ++i) write(i, from[i]);
      break;
    case Curve::log1p:
      for (std::size_t i = 0; i < size; ++i) write(i, fast_log1p(from[i]));
      break;
    case Curve::log:
      for (std::size_t i = 0; i < size; ++i) write(i, fast_log(from[i]));
      break;
  }
}

}  // namespace cosmo::dataset
