#include "nn/density/conditional_density.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/error.hpp"
#include "nn/density/cut_mixture.hpp"

namespace cosmo::nn {

namespace {

constexpr std::size_t kRowsAtOnce = 512;

void ensure_finite(std::span<const double> values, const char* what) {
  core::ensure(std::ranges::all_of(values, [](double value) { return std::isfinite(value); }),
               core::Fault::numeric, "A density cannot be evaluated: {} are not all finite.", what);
}

}  // namespace

ConditionalDensity::ConditionalDensity(Coordinates coordinates, std::vector<Member> members,
                                       std::vector<double> widening)
    : coordinates_(std::move(coordinates)), members_(std::move(members)), widening_(std::move(widening)) {
  core::ensure(!members_.empty(), core::Fault::internal, "A density has no members.");
  for (const Member& member : members_) {
    core::ensure(member.size() == parameters(), core::Fault::internal, "A density lacks factors.");
    for (std::size_t i = 0; i < member.size(); ++i) {
      core::ensure(member[i].shape().inputs == static_cast<int>(features() + i), core::Fault::internal,
                   "A factor of a density has the wrong number of inputs.");
    }
  }
}

int ConditionalDensity::components(std::size_t parameter) const {
  return members_.front()[parameter].shape().outputs / kOutputsPerComponent;
}

std::vector<double> ConditionalDensity::log_density(std::span<const double> s,
                                                    std::span<const double> theta) const {
  std::vector<double> all;
  const std::size_t rows = theta.size() / parameters();
  for (std::size_t first = 0; first < rows; first += kRowsAtOnce) {
    const std::size_t count = std::min(kRowsAtOnce, rows - first);
    const EvaluatedPairs part(*this, s.subspan(first * features(), count * features()),
                              theta.subspan(first * parameters(), count * parameters()));
    const std::vector<double> logs = part.log_density(widening_);
    all.insert(all.end(), logs.begin(), logs.end());
  }
  return all;
}

Posterior ConditionalDensity::at(std::span<const double> s) const {
  core::ensure(s.size() == features(), core::Fault::internal,
               "A posterior is asked for with {} predictions, not {}.", s.size(), features());
  ensure_finite(s, "the predictions");
  std::vector<double> x(coordinates_.size());
  coordinates_.of_features(s, x);
  std::vector<Member> members;
  for (const Member& member : members_) {
    Member& fixed = members.emplace_back();
    for (const FactorNetwork& factor : member)
      fixed.push_back(factor.with_inputs(std::span(std::as_const(x)).first(features())));
  }
  return {coordinates_, std::move(x), std::move(members), widening_};
}

EvaluatedPairs::EvaluatedPairs(const ConditionalDensity& density, std::span<const double> s,
                               std::span<const double> theta)
    : rows_(theta.size() / density.parameters()),
      parameters_(density.parameters()),
      members_(density.members()),
      theta_(theta.begin(), theta.end()),
      centres_(theta.size()) {
  const std::size_t features = density.features();
  core::ensure(rows_ * parameters_ == theta.size() && rows_ * features == s.size(), core::Fault::internal,
               "The rows of predictions and truths differ in number.");
  ensure_finite(s, "the predictions");
  ensure_finite(theta, "the parameters");
  Columns inputs(static_cast<int>(features), static_cast<int>(rows_));
  std::vector<double> x(rows_ * density.coordinates_.size());  // coordinates, row by row
  const auto x_of = [&](std::size_t row) {
    return std::span(x).subspan(row * density.coordinates_.size(), density.coordinates_.size());
  };
  for (std::size_t row = 0; row < rows_; ++row) {
    density.coordinates_.of_features(s.subspan(row * features, features), x_of(row));
    for (std::size_t f = 0; f < features; ++f) inputs.row(static_cast<int>(f))[row] = x_of(row)[f];
  }
  outputs_.resize(members_ * parameters_);
  for (std::size_t i = 0; i < parameters_; ++i) {
    scales_.push_back(density.coordinates_.scale_of(i));
    for (std::size_t m = 0; m < members_; ++m) {
      const FactorNetwork& network = density.members_[m][i];
      FactorPass pass(network.shape(), inputs.columns());
      network.forward(inputs, pass);
      outputs_[m * parameters_ + i] = std::move(pass.outputs);
    }
    inputs.add_row();
    const auto y = inputs.row(inputs.rows() - 1);
    for (std::size_t row = 0; row < rows_; ++row) {
      const std::size_t at = row * parameters_ + i;
      centres_[at] = density.coordinates_.centre_of(i, x_of(row));
      y[row] = x_of(row)[features + i] = (theta_[at] - centres_[at]) / scales_[i];
    }
  }
}

std::vector<double> EvaluatedPairs::log_density(std::span<const double> widening) const {
  std::vector<double> logs(rows_), of_members(members_);
  for (std::size_t row = 0; row < rows_; ++row) {
    for (std::size_t m = 0; m < members_; ++m) {
      of_members[m] = 0;
      for (std::size_t i = 0; i < parameters_; ++i) of_members[m] += log_density_at(row, m, i, widening[i]);
    }
    logs[row] = log_mean(of_members);
  }
  return logs;
}

std::vector<double> EvaluatedPairs::log_density_of(std::size_t parameter, double widening) const {
  std::vector<double> logs(rows_), of_members(members_);
  for (std::size_t row = 0; row < rows_; ++row) {
    for (std::size_t m = 0; m < members_; ++m) of_members[m] = log_density_at(row, m, parameter, widening);
    logs[row] = log_mean(of_members);
  }
  return logs;
}

double EvaluatedPairs::log_density_at(std::size_t row, std::size_t member, std::size_t parameter,
                                      double widening) const {
  const std::size_t at = row * parameters_ + parameter;
  return cut_mixture_of(outputs_[member * parameters_ + parameter], static_cast<int>(row),
                        {centres_[at], scales_[parameter]}, widening)
      .log_density(theta_[at]);
}

}  // namespace cosmo::nn
