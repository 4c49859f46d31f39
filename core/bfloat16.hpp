#pragma once

#include <bit>
#include <cstdint>

namespace cosmo::core {

/// The upper 16 bits of a float: its sign, its exponent and 7 bits of its mantissa.
struct Bfloat16 {
  std::uint16_t bits = 0;

  Bfloat16() = default;
  /// Rounds to the nearest value, ties to even; NaN stays NaN.
  explicit Bfloat16(float value) {
    const auto whole = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = whole + 0x7fffu + ((whole >> 16) & 1u);
    const bool is_nan = (whole & 0x7fffffffu) > 0x7f800000u;
    bits = static_cast<std::uint16_t>((is_nan ? whole | 0x00400000u : rounded) >> 16);
  }
  explicit operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};

}  // namespace cosmo::core
