#include "infer/onnx/spectrum_nodes.hpp"

#include <cmath>
#include <numbers>

namespace cosmo::infer {

namespace {

/// Half of a side's wavenumbers, 0 ... n/2.
std::int64_t wavenumbers(std::int64_t side) { return side / 2 + 1; }

/// Number of modes along an axis that differ from this one by their sign.
std::int64_t signs(std::int64_t k, std::int64_t side) { return k == 0 || 2 * k == side ? 1 : 2; }

/// Cosines of the wavenumbers, then their sines (2 × wavenumbers, n), such that squares of their products with a line
/// sum to the power of its Fourier series. Sines of wavenumbers that have none are 0.
std::vector<double> waves(std::int64_t side) {
  std::vector<double> rows;
  const auto n = static_cast<double>(side);
  for (const bool sine : {false, true}) {
    for (std::int64_t k = 0; k < wavenumbers(side); ++k) {
      const double size = std::sqrt(static_cast<double>(signs(k, side))) / n;
      for (std::int64_t x = 0; x < side; ++x) {
        const double phase = 2 * std::numbers::pi * static_cast<double>(k * x % side) / n;
        rows.push_back(sine ? (signs(k, side) == 1 ? 0 : size * std::sin(phase)) : size * std::cos(phase));
      }
    }
  }
  return rows;
}

std::vector<double> transposed(const std::vector<double>& rows, std::int64_t columns) {
  const auto width = static_cast<std::size_t>(columns), height = rows.size() / width;
  std::vector<double> values(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) values[i % width * height + i / width] = rows[i];
  return values;
}

/// The power of all modes with the same |kx|, |ky|, |kz|: (N, channels, wavenumbers³).
std::string append_power(OnnxScope& scope, const SpectrumSource& source) {
  const std::int64_t n = source.side, h = wavenumbers(n), c = source.channels;
  const std::vector<double> rows = waves(n);
  const std::string left = scope.numbers({2 * h, n}, rows),
                    right = scope.numbers({n, 2 * h}, transposed(rows, n));
  const std::string z = scope.node("MatMul", {source.fields, right});
  const std::string yz = scope.node("MatMul", {left, z});
  const std::string xyz = scope.node("MatMul", {left, scope.reshape(yz, {-1, c, n, 4 * h * h})});
  const std::string split = scope.reshape(xyz, {-1, c, 2, h, 2, h, 2, h});
  const std::string power = scope.node(
      "ReduceSumSquare", {split},
      OnnxAttributes().add("axes", std::vector<std::int64_t>{2, 4, 6}).add("keepdims", std::int64_t{0}));
  return scope.reshape(power, {-1, c, h * h * h});
}

/// k² of these modes in units of the fundamental wavenumber's square: (wavenumbers³, 1).
std::string append_squares(OnnxScope& scope, std::int64_t side) {
  const std::int64_t h = wavenumbers(side);
  std::vector<double> squares;
  for (std::int64_t k = 0; k < h; ++k) squares.push_back(static_cast<double>(k * k));
  const std::string plane =
      scope.node("Add", {scope.numbers({h, 1, 1}, squares), scope.numbers({h, 1}, squares)});
  return scope.reshape(scope.node("Add", {plane, scope.numbers({h}, squares)}), {h * h * h, 1});
}

/// Number of modes whose k² lies from `low` to `high`.
double modes_between(std::int64_t side, double low, double high) {
  std::int64_t modes = 0;
  for (std::int64_t x = 0; x < wavenumbers(side); ++x) {
    for (std::int64_t y = 0; y < wavenumbers(side); ++y) {
      for (std::int64_t z = 0; z < wavenumbers(side); ++z) {
        const auto square = static_cast<double>(x * x + y * y + z * z);
        if (square >= low && square < high) modes += signs(x, side) * signs(y, side) * signs(z, side);
      }
    }
  }
  return static_cast<double>(modes);
}

}  // namespace

std::string append_log_power(OnnxScope& scope, const SpectrumSource& source) {
  const auto groups = static_cast<std::int64_t>(source.groups.size()) - 1;
  std::vector<double> low, high, scale;
  for (std::size_t g = 0; g + 1 < source.groups.size(); ++g) {
    // Bin b has the wavenumbers from b + 1/2 to b + 3/2.
    low.push_back(std::pow(static_cast<double>(source.groups[g]) + 0.5, 2));
    high.push_back(std::pow(static_cast<double>(source.groups[g + 1]) + 0.5, 2));
    scale.push_back(source.volume / modes_between(source.side, low.back(), high.back()));
  }
  const std::string squares = append_squares(scope, source.side);
  const std::string inside =
      scope.node("And", {scope.node("GreaterOrEqual", {squares, scope.numbers({groups}, low)}),
                         scope.node("Less", {squares, scope.numbers({groups}, high)})});
  const std::string selection =
      scope.node("Cast", {inside}, OnnxAttributes().add("to", std::int64_t{1}));  // to float
  const std::string sums = scope.node("MatMul", {append_power(scope, source), selection});
  const std::string power = scope.node("Mul", {sums, scope.numbers({groups}, scale)});
  constexpr double kNoPower = 1e-9;  // as in dataset::log_power
  const std::string log = scope.node("Log", {scope.node("Max", {power, scope.number(kNoPower)})});
  return scope.node("Flatten", {log});
}

}  // namespace cosmo::infer
