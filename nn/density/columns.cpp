#include "nn/density/columns.hpp"

#include <algorithm>
#include <cstring>

namespace cosmo::nn {

namespace {

constexpr int kLanes = Columns::kLanes;
using Doubles [[gnu::vector_size(kLanes * sizeof(double))]] = double;

Doubles load_doubles(const double* values) {
  Doubles lanes;
  std::memcpy(&lanes, values, sizeof lanes);
  return lanes;
}

void store_doubles(double* values, const Doubles& lanes) { std::memcpy(values, &lanes, sizeof lanes); }

/// A matrix as the products read it: the element (i, j) lies at i * down + j * right.
struct Strided {
  const double* values;
  std::ptrdiff_t down, right;
};

/// `count` rows of y from `first` on, for all columns.
template <int count>
void multiply_rows(const Strided& weights, std::span<const double> biases, const Columns& x, Columns& y,
                   int first, bool add) {
  const double* corner = weights.values + first * weights.down;
  for (int column = 0; column < y.width(); column += kLanes) {
    Doubles sums[count];
    for (int i = 0; i < count; ++i) {
      const double start = biases.empty() ? 0 : biases[static_cast<std::size_t>(first + i)];
      sums[i] = Doubles{} + start;
      if (add) sums[i] += load_doubles(y.row(first + i).data() + column);
    }
    for (int j = 0; j < x.rows(); ++j) {
      const Doubles values = load_doubles(x.row(j).data() + column);
      for (int i = 0; i < count; ++i) sums[i] += corner[i * weights.down + j * weights.right] * values;
    }
    for (int i = 0; i < count; ++i) store_doubles(y.row(first + i).data() + column, sums[i]);
  }
}

void multiply_all(const Strided& weights, std::span<const double> biases, const Columns& x, Columns& y,
                  bool add) {
  int first = 0;
  for (; first + 8 <= y.rows(); first += 8) multiply_rows<8>(weights, biases, x, y, first, add);
  for (; first < y.rows(); ++first) multiply_rows<1>(weights, biases, x, y, first, add);
}

double sum_of(const Doubles& lanes) {
  double total = 0;
  for (int i = 0; i < kLanes; ++i) total += lanes[i];
  return total;
}

/// The part of the outer product in `down` rows from i on and `right` columns from j on.
template <int down, int right>
void add_tile(const Columns& x, const Columns& y, std::span<double> weights, int i, int j) {
  Doubles sums[down][right] = {};
  for (int column = 0; column < x.width(); column += kLanes) {
    Doubles left[down];
    for (int a = 0; a < down; ++a) left[a] = load_doubles(x.row(i + a).data() + column);
    for (int b = 0; b < right; ++b) {
      const Doubles values = load_doubles(y.row(j + b).data() + column);
      for (int a = 0; a < down; ++a) sums[a][b] += left[a] * values;
    }
  }
  for (int a = 0; a < down; ++a) {
    for (int b = 0; b < right; ++b)
      weights[static_cast<std::size_t>((i + a) * y.rows() + j + b)] += sum_of(sums[a][b]);
  }
}

template <int down>
void add_rows(const Columns& x, const Columns& y, std::span<double> weights, int i) {
  int j = 0;
  for (; j + 4 <= y.rows(); j += 4) add_tile<down, 4>(x, y, weights, i, j);
  for (; j < y.rows(); ++j) add_tile<down, 1>(x, y, weights, i, j);
}

}  // namespace

Columns::Columns(int rows, int columns)
    : rows_(rows),
      columns_(columns),
      width_((columns + kLanes - 1) / kLanes * kLanes),
      values_(static_cast<std::size_t>(rows) * static_cast<std::size_t>(width_)) {}

void Columns::add_row() {
  ++rows_;
  values_.resize(offset(rows_));
}

void multiply(std::span<const double> weights, std::span<const double> biases, const Columns& x, Columns& y,
              bool add) {
  multiply_all({weights.data(), x.rows(), 1}, biases, x, y, add);
}

void multiply_transposed(std::span<const double> weights, const Columns& x, Columns& y) {
  multiply_all({weights.data(), 1, y.rows()}, {}, x, y, false);
}

void add_outer(const Columns& x, const Columns& y, std::span<double> weights, std::span<double> biases) {
  int i = 0;
  for (; i + 4 <= x.rows(); i += 4) add_rows<4>(x, y, weights, i);
  for (; i < x.rows(); ++i) add_rows<1>(x, y, weights, i);
  if (biases.empty()) return;
  for (i = 0; i < x.rows(); ++i) {
    Doubles sums = {};
    for (int column = 0; column < x.width(); column += kLanes) sums += load_doubles(x.row(i).data() + column);
    biases[static_cast<std::size_t>(i)] += sum_of(sums);
  }
}

}  // namespace cosmo::nn
