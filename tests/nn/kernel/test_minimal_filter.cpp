#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "nn/kernel/minimal_filter.hpp"

using namespace cosmo;

namespace {

/// An exact rational number.
struct Fraction {
  std::int64_t over = 0, under = 1;

  Fraction() = default;
  Fraction(std::int64_t over_, std::int64_t under_) {
    const std::int64_t common = std::gcd(over_, under_);
    over = over_ / common;
    under = under_ / common;
  }
  /// A float with at most 20 binary places.
  Fraction(float value) : Fraction(std::llround(std::ldexp(value, 20)), std::int64_t{1} << 20) {
    REQUIRE(static_cast<float>(over) / static_cast<float>(under) == value);
  }
  friend Fraction operator+(const Fraction& a, const Fraction& b) {
    const std::int64_t common = std::gcd(a.under, b.under);
    return {a.over * (b.under / common) + b.over * (a.under / common), a.under / common * b.under};
  }
  friend Fraction operator*(const Fraction& a, const Fraction& b) {
    const Fraction first(a.over, b.under), second(b.over, a.under);
    return {first.over * second.over, first.under * second.under};
  }
  friend Fraction operator-(const Fraction& a, const Fraction& b) { return a + Fraction(-1, 1) * b; }
  Fraction& operator+=(const Fraction& b) { return *this = *this + b; }
  bool operator==(const Fraction&) const = default;
};

/// 1 / Π (point i - point j) over the other finite points.
Fraction row_scale(int i) {
  const Fraction points[] = {0.0f, nn::kPoints[0], -nn::kPoints[0], nn::kPoints[1], -nn::kPoints[1]};
  Fraction product = 1.0f;
  if (i == nn::kTile - 1) return product;
  for (int j = 0; j < nn::kTile - 1; ++j) {
    if (j != i) product = product * (points[i] - points[j]);
  }
  return product.over < 0 ? Fraction(-product.under, -product.over) : Fraction(product.under, product.over);
}

/// Every cell and every tap once as one among zeros: the outputs say which cell each tap reads.
template <int taps>
void check_exact() {
  constexpr int kOutputs = nn::kTile + 1 - taps;
  for (int cell = 0; cell < nn::kTile; ++cell) {
    for (int tap = 0; tap < taps; ++tap) {
      Fraction cells[nn::kTile], filter[taps], from_cells[nn::kTile], from_filter[nn::kTile],
          outputs[kOutputs];
      cells[cell] = 1.0f;
      filter[tap] = 1.0f;
      nn::transform_cells(cells, from_cells);
      nn::transform_filter<taps>(filter, from_filter);
      for (int i = 0; i < nn::kTile; ++i) from_cells[i] = from_cells[i] * from_filter[i] * row_scale(i);
      nn::transform_products<kOutputs>(from_cells, outputs);
      for (int i = 0; i < kOutputs; ++i) CHECK(outputs[i] == Fraction(i + tap == cell ? 1.0f : 0.0f));
    }
  }
}

}  // namespace

TEST_CASE("minimal filtering of a line is exact in rational numbers") {
  check_exact<3>();
  check_exact<4>();
  for (int i = 0; i < nn::kTile; ++i) {
    const Fraction scale = row_scale(i);
    CHECK(nn::kRowScales[static_cast<std::size_t>(i)] ==
          static_cast<float>(static_cast<double>(scale.over) / static_cast<double>(scale.under)));
  }
}
