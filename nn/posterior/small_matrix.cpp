#include "nn/posterior/small_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cosmo::nn {

Matrix factor_of(Matrix matrix, std::size_t n) {
  constexpr double kLeastPivot = std::numeric_limits<double>::epsilon();  // the size of rounding errors
  const Matrix given = matrix;
  Matrix factor{};
  for (std::size_t i = n; i-- > 0;) {
    factor[i][i] = std::sqrt(std::max(matrix[i][i], kLeastPivot * given[i][i]));
    for (std::size_t j = 0; j < i; ++j) factor[i][j] = matrix[i][j] / factor[i][i];
    for (std::size_t j = 0; j < i; ++j) {
      for (std::size_t k = 0; k < i; ++k) matrix[j][k] -= factor[i][j] * factor[i][k];
    }
  }
  return factor;
}

Vector times(const Matrix& factor, const Vector& x, std::size_t n) {
  Vector product{};
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) product[i] += factor[i][j] * x[j];
  }
  return product;
}

Matrix product_of(const Matrix& left, const Matrix& right, std::size_t n) {
  Matrix product{};
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      for (std::size_t k = j; k <= i; ++k) product[i][j] += left[i][k] * right[k][j];
    }
  }
  return product;
}

Vector times_transposed(const Matrix& factor, const Vector& x, std::size_t n) {
  Vector product{};
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) product[j] += factor[i][j] * x[i];
  }
  return product;
}

Vector solve(const Matrix& factor, const Vector& b, std::size_t n) {
  Vector x = b;
  for (std::size_t i = n; i-- > 0;) {  // factorᵀ y = b
    for (std::size_t k = i + 1; k < n; ++k) x[i] -= factor[k][i] * x[k];
    x[i] /= factor[i][i];
  }
  for (std::size_t i = 0; i < n; ++i) {  // factor x = y
    for (std::size_t k = 0; k < i; ++k) x[i] -= factor[i][k] * x[k];
    x[i] /= factor[i][i];
  }
  return x;
}

Matrix product_of(const Matrix& factor, std::size_t n) {
  Matrix product{};
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t k = std::max(i, j); k < n; ++k) product[i][j] += factor[k][i] * factor[k][j];
    }
  }
  return product;
}

Matrix inverse_of(const Matrix& factor, std::size_t n) {
  Matrix inverse{};
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = j; i < n; ++i) {
      double sum = i == j ? 1 : 0;
      for (std::size_t k = j; k < i; ++k) sum -= factor[i][k] * inverse[k][j];
      inverse[i][j] = sum / factor[i][i];
    }
  }
  return inverse;
}

Matrix inverse_product_of(const Matrix& factor, std::size_t n) {
  const Matrix inverse = inverse_of(factor, n);
  Matrix product{};
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t k = 0; k <= std::min(i, j); ++k) product[i][j] += inverse[i][k] * inverse[j][k];
    }
  }
  return product;
}

Matrix triangle_of(std::span<const double> numbers, std::size_t n) {
  Matrix triangle{};
  const bool diagonal = numbers.size() == n;
  auto next = numbers.begin();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = diagonal ? i : 0; j <= i; ++j) triangle.at(i).at(j) = *next++;
  }
  return triangle;
}

std::vector<double> rows_of(const Matrix& triangle, std::size_t n) {
  std::vector<double> numbers;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) numbers.push_back(triangle[i][j]);
  }
  return numbers;
}

}  // namespace cosmo::nn
