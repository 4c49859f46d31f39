#pragma once
// Linear algebra of a few parameters. Factors are lower triangular with a positive diagonal, and belong to
// the symmetric positive matrix factorᵀ factor.

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace cosmo::nn {

constexpr int kMostParameters = 5;
using Vector = std::array<double, kMostParameters>;  ///< (n); later elements are ignored
using Matrix = std::array<Vector, kMostParameters>;  ///< (n, n), likewise

/// The factor of a symmetric positive matrix.
Matrix factor_of(Matrix matrix, std::size_t n);
/// factor x.
Vector times(const Matrix& factor, const Vector& x, std::size_t n);
/// The product of two lower triangular matrices, left right.
Matrix product_of(const Matrix& left, const Matrix& right, std::size_t n);
/// factorᵀ x.
Vector times_transposed(const Matrix& factor, const Vector& x, std::size_t n);
/// Solves factorᵀ factor x = b for x.
Vector solve(const Matrix& factor, const Vector& b, std::size_t n);
/// factorᵀ factor.
Matrix product_of(const Matrix& factor, std::size_t n);
/// The inverse of a factor, which is also lower triangular.
Matrix inverse_of(const Matrix& factor, std::size_t n);
/// The inverse of factorᵀ factor.
Matrix inverse_product_of(const Matrix& factor, std::size_t n);

/// Number of elements of a lower triangular matrix.
constexpr std::size_t triangle_size(std::size_t n) { return n * (n + 1) / 2; }
/// The matrix with these rows, one after another (triangle_size(n)), or the diagonal one with this diagonal
/// (n).
Matrix triangle_of(std::span<const double> numbers, std::size_t n);
/// The rows of a triangle, one after another.
std::vector<double> rows_of(const Matrix& triangle, std::size_t n);

}  // namespace cosmo::nn
