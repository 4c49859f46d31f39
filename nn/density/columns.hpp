#pragma once
// Numbers of many samples side by side, and the products of matrices with them. In these products a sample is never
// added to another, so its results have the same bits whatever else is in the block.

#include <cstddef>
#include <span>
#include <vector>

namespace cosmo::nn {

/// A row for each quantity and a column for each sample; columns are padded with zeros to a multiple of kLanes.
class Columns {
 public:
  static constexpr int kLanes = 8;

  Columns() = default;
  Columns(int rows, int columns);

  int rows() const { return rows_; }
  int columns() const { return columns_; }
  /// Number of columns with the padding.
  int width() const { return width_; }
  /// Adds a row of zeros.
  void add_row();
  /// A row with its padding (width()).
  std::span<double> row(int i) { return {values_.data() + offset(i), static_cast<std::size_t>(width_)}; }
  std::span<const double> row(int i) const {
    return {values_.data() + offset(i), static_cast<std::size_t>(width_)};
  }

 private:
  std::size_t offset(int i) const { return static_cast<std::size_t>(i) * static_cast<std::size_t>(width_); }

  int rows_ = 0, columns_ = 0, width_ = 0;
  std::vector<double> values_;
};

/// y = biases + weights x: weights (y.rows(), x.rows()) row by row; biases (y.rows()), or none for 0. With `add`,
/// y grows by it.
void multiply(std::span<const double> weights, std::span<const double> biases, const Columns& x, Columns& y,
              bool add = false);
/// y = weightsᵀ x: weights (x.rows(), y.rows()) row by row.
void multiply_transposed(std::span<const double> weights, const Columns& x, Columns& y);
/// weights (x.rows(), y.rows()) grow by x yᵀ, biases (x.rows()), unless there are none, by the sums of the rows of x.
void add_outer(const Columns& x, const Columns& y, std::span<double> weights, std::span<double> biases);

}  // namespace cosmo::nn
