#include "nn/density/feature_distance.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/error.hpp"
#include "nn/density/read_values.hpp"

namespace cosmo::nn {

namespace {

constexpr const char* kDistanceSchema = "cosmo.distance/1";
constexpr double kLeastSpread = 1e-6;  ///< the least of a feature that counts, as a share of the largest

/// The covariance of columns x with mean 0 and variance 1, shrunk (lemmas 3.2 to 3.4 of Ledoit & Wolf with the
/// identity as target: μ = 1 but for rows of zeros).
Eigen::MatrixXd shrunk_covariance(const Eigen::MatrixXd& x) {
  const auto width = static_cast<double>(x.rows()), count = static_cast<double>(x.cols());
  const Eigen::MatrixXd sample = x * x.transpose() / count;
  const Eigen::MatrixXd target = sample.trace() / width * Eigen::MatrixXd::Identity(x.rows(), x.rows());
  const double away = (sample - target).squaredNorm();
  double noise = 0;  // mean of |x xᵀ - sample|², over the number of columns
  for (Eigen::Index i = 0; i < x.cols(); ++i) noise += std::pow(x.col(i).squaredNorm(), 2);
  noise = (noise / count - sample.squaredNorm()) / count;
  const double share = away > 0 ? std::clamp(noise / away, 1e-6, 1.0) : 1;
  return (1 - share) * sample + share * target;
}

}  // namespace

std::optional<FeatureDistance> FeatureDistance::fit(const FeatureRows& training,
                                                    const FeatureRows& validation) {
  if (training.rows() < kLeastRows || validation.rows() < kLeastRows) return std::nullopt;
  const auto width = static_cast<Eigen::Index>(training.width);
  Eigen::MatrixXd x = Eigen::Map<const Eigen::MatrixXd>(training.values.data(), width,
                                                        static_cast<Eigen::Index>(training.rows()));
  const Eigen::VectorXd mean = x.rowwise().mean();
  x.colwise() -= mean;
  const Eigen::VectorXd spread = (x.rowwise().squaredNorm() / static_cast<double>(x.cols())).cwiseSqrt();
  const double least = kLeastSpread * spread.maxCoeff();
  if (!(least > 0)) return std::nullopt;
  Eigen::VectorXd scale(width);  // 0 for a feature that does not vary
  for (Eigen::Index f = 0; f < width; ++f) scale[f] = spread[f] > least ? 1 / spread[f] : 0;
  x = scale.asDiagonal() * x;
  const Eigen::LLT<Eigen::MatrixXd> factor(shrunk_covariance(x));
  const Eigen::MatrixXd whitening = factor.matrixL().solve(Eigen::MatrixXd(scale.asDiagonal()));
  FeatureDistance fitted;
  fitted.mean_.assign(mean.begin(), mean.end());
  for (Eigen::Index row = 0; row < width; ++row) {
    for (Eigen::Index column = 0; column < width; ++column)
      fitted.whitening_.push_back(whitening(row, column));
  }
  for (std::size_t i = 0; i < validation.rows(); ++i)
    fitted.distances_.push_back(fitted.distance(validation.row(i)));
  std::ranges::sort(fitted.distances_);
  if (!(fitted.distances_.back() > 0)) return std::nullopt;
  return fitted;
}

double FeatureDistance::distance(std::span<const double> features) const {
  double square = 0;
  for (std::size_t i = 0; i < width(); ++i) {
    double coordinate = 0;
    for (std::size_t j = 0; j <= i; ++j) coordinate += whitening_[i * width() + j] * (features[j] - mean_[j]);
    square += coordinate * coordinate;
  }
  return std::sqrt(square);
}

Farness FeatureDistance::of(std::span<const double> features) const {
  const double own = distance(features);
  const auto farther = distances_.end() - std::upper_bound(distances_.begin(), distances_.end(), own);
  return {static_cast<double>(farther) / static_cast<double>(compared()), own / distances_.back()};
}

void FeatureDistance::write(core::hdf5::File& file, const std::string& group) const {
  file.write(group + "/mean", {width()}, std::span<const double>(mean_));
  file.write(group + "/whitening", {width(), width()}, std::span<const double>(whitening_));
  file.write(group + "/distances", {compared()}, std::span<const double>(distances_));
  file.set_attribute(group + "/schema", std::string(kDistanceSchema));
  file.set_attribute(group + "/features", std::uint64_t{width()});
  file.set_attribute(group + "/universes", std::uint64_t{compared()});
}

FeatureDistance FeatureDistance::read(const core::hdf5::File& file, const std::string& path,
                                      const std::string& group) {
  core::ensure(file.text_attribute(group + "/schema") == kDistanceSchema, core::Fault::format,
               "{} does not hold distances of this version: restore it, or fit the posterior again.", path);
  constexpr std::uint64_t kMostFeatures = 65536, kMostUniverses = std::uint64_t{1} << 32;
  const std::uint64_t features = file.integer_attribute(group + "/features"),
                      universes = file.integer_attribute(group + "/universes");
  ensure_possible(features >= 1 && features <= kMostFeatures, path, group + "/features");
  ensure_possible(universes >= 1 && universes <= kMostUniverses, path, group + "/universes");
  FeatureDistance distance;
  distance.mean_ = read_finite(file, path, group + "/mean", {features});
  distance.whitening_ = read_finite(file, path, group + "/whitening", {features, features});
  distance.distances_ = read_finite(file, path, group + "/distances", {universes});
  ensure_possible(std::ranges::is_sorted(distance.distances_) && distance.distances_.back() > 0, path,
                  group + "/distances");
  return distance;
}

}  // namespace cosmo::nn
