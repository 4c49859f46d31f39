#include "infer/onnx/statistics_nodes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/error.hpp"
#include "dataset/measure/summary_statistics.hpp"
#include "infer/onnx/onnx_scope.hpp"
#include "infer/onnx/spectrum_nodes.hpp"

namespace cosmo::infer {

namespace {

using dataset::kValueBins;

/// Means over the voxels (N, C, 1, 1, 1), axis after axis, which keeps sums of millions of voxels exact enough in float32.
std::string append_voxel_mean(OnnxScope& scope, std::string values) {
  for (const std::int64_t axis : {4, 3, 2})
    values = scope.node("ReduceMean", {values}, OnnxAttributes().add("axes", std::vector{axis}));
  return values;
}

/// The lowest voxel in a bin of values, as the graph's input has it. Counts: dataset::kValueBins.
float first_in_bin(std::size_t bin, const dataset::VoxelTransform& transform, std::size_t channel) {
  if (transform.kind == dataset::VoxelKind::counts) {
    if (bin < 4) return static_cast<float>(bin) - 0.5f;
    const double octave = std::exp2(static_cast<double>(bin / 2));
    return static_cast<float>(bin % 2 == 0 ? octave : 1.5 * octave) - 0.5f;
  }
  const dataset::VoxelMap& map = transform.map(channel);
  const double value = (static_cast<double>(bin) - static_cast<double>(kValueBins / 2)) / 4;
  double edge = map.offset + value / map.scale;
  switch (dataset::curve_of(transform.name)) {
    case dataset::Curve::log1p:
      edge = std::expm1(edge);
      break;
    case dataset::Curve::log:
      edge = std::exp(edge);
      break;
    case dataset::Curve::none:
      break;
  }
  const auto nearest = static_cast<float>(edge);
  return static_cast<double>(nearest) < edge ? std::nextafter(nearest, std::numeric_limits<float>::infinity())
                                             : nearest;
}

/// Features of a sample: where they are among dataset::all_features.
class StatisticsNodes {
 public:
  StatisticsNodes(OnnxGraph& graph, const StatisticsSource& source, std::vector<bool> used)
      : scope_(graph, "statistics"),
        source_(source),
        used_(std::move(used)),
        counts_(source.transform.kind == dataset::VoxelKind::counts) {}

  /// The features (N, F) in the order of dataset::all_features; shares that are not used are 0.
  std::string append() {
    const std::string values = counts_ ? source_.counts : source_.voxels;
    mean_ = append_voxel_mean(scope_, values);
    centred_ = scope_.node("Sub", {values, mean_});
    const std::string contrast =
        counts_ ? scope_.node("Div", {centred_, scope_.node("Max", {mean_, scope_.number(kTiny)})})
                : centred_;  // without a particle 0 / tiny is 0
    const std::string logarithm = append_logarithm(values);
    const std::string fields = scope_.concat({contrast, logarithm}, 1);
    const double side = static_cast<double>(source_.input.size) * source_.input.voxel_size.value;
    const std::string spectra =
        append_log_power(scope_, {fields, 2 * source_.input.channels, source_.input.size, std::pow(side, 3),
                                  dataset::feature_groups(static_cast<std::size_t>(source_.input.size / 2))});
    return scope_.concat({spectra, append_one_point()}, 1);
  }

 private:
  static constexpr double kTiny = 1e-30;

  /// log(1 + n), for fields sign(n) log(1 + |n|), without its mean.
  std::string append_logarithm(const std::string& values) {
    const std::string size = counts_ ? values : scope_.node("Abs", {values});
    std::string logarithm = scope_.node("Log", {scope_.node("Add", {size, scope_.number(1)})});
    if (!counts_) logarithm = scope_.node("Mul", {scope_.node("Sign", {values}), logarithm});
    return scope_.node("Sub", {logarithm, append_voxel_mean(scope_, logarithm)});
  }

  /// x / max(y, tiny), of moments that are both 0 if all voxels are alike.
  std::string ratio(const std::string& x, const std::string& y) {
    return scope_.node("Div", {x, scope_.node("Max", {y, scope_.number(kTiny)})});
  }

  /// Mean, skewness, kurtosis and distribution of each channel: (N, C (3 + bins)).
  std::string append_one_point() {
    const std::string square = scope_.node("Mul", {centred_, centred_});
    const std::string m2 = append_voxel_mean(scope_, square);
    const std::string m3 = append_voxel_mean(scope_, scope_.node("Mul", {square, centred_}));
    const std::string m4 = append_voxel_mean(scope_, scope_.node("Mul", {square, square}));
    const std::string m2_square = scope_.node("Mul", {m2, m2});
    const std::string skewness = ratio(m3, scope_.node("Mul", {m2, scope_.node("Sqrt", {m2})}));
    const std::string normal = scope_.node("Mul", {m2_square, scope_.number(3)});
    const std::string kurtosis = ratio(scope_.node("Sub", {m4, normal}), m2_square);
    std::vector<std::string> parts;
    for (const std::string& moment :
         {mean_, scope_.node("Asinh", {skewness}), scope_.node("Asinh", {kurtosis})})
      parts.push_back(scope_.reshape(moment, {-1, source_.input.channels, 1}));
    parts.push_back(append_shares());
    return scope_.node("Flatten", {scope_.concat(parts, 2)});
  }

  bool is_used(std::size_t bin) const {
    const std::size_t one_point = 3 + kValueBins, channels = static_cast<std::size_t>(source_.input.channels),
                      first = used_.size() - channels * one_point;
    for (std::size_t c = 0; c < channels; ++c) {
      if (used_[first + c * one_point + 3 + bin]) return true;
    }
    return false;
  }

  /// The number of voxels that are not below a bin: (N, C, 1).
  std::string append_number_from(std::size_t bin) {
    std::vector<double> edges;
    for (std::size_t c = 0; c < static_cast<std::size_t>(source_.input.channels); ++c)
      edges.push_back(first_in_bin(bin, source_.transform, c));
    const std::string edge = scope_.numbers({source_.input.channels, 1, 1, 1}, edges);
    const std::string above = scope_.node("GreaterOrEqual", {source_.counts, edge});
    const std::string ones = scope_.node("Cast", {above}, OnnxAttributes().add("to", std::int64_t{1}));
    const std::string number = scope_.node("ReduceSum", {ones, scope_.integers({2, 3, 4})});
    return scope_.reshape(number, {-1, source_.input.channels, 1});
  }

  /// Roots of the shares of voxels in each bin that is used, 0 for others: (N, C, bins).
  std::string append_shares() {
    std::vector<std::size_t> edges;
    for (std::size_t bin = 1; bin < kValueBins; ++bin) {
      if (is_used(bin - 1) || is_used(bin)) edges.push_back(bin);
    }
    if (edges.empty()) edges.push_back(1);
    std::vector<double> differences(edges.size() * kValueBins), all(kValueBins);
    for (std::size_t e = 0; e < edges.size(); ++e) {
      if (is_used(edges[e])) differences[e * kValueBins + edges[e]] = 1;
      if (is_used(edges[e] - 1)) differences[e * kValueBins + edges[e] - 1] = -1;
    }
    const auto voxels = static_cast<double>(source_.input.cells());
    if (is_used(0)) all[0] = voxels;
    std::vector<std::string> numbers;
    for (const std::size_t edge : edges) numbers.push_back(append_number_from(edge));
    const auto bins = static_cast<std::int64_t>(kValueBins);
    const std::string within =
        scope_.node("MatMul", {scope_.concat(numbers, 2),
                               scope_.numbers({static_cast<std::int64_t>(edges.size()), bins}, differences)});
    const std::string number = scope_.node("Add", {within, scope_.numbers({bins}, all)});
    return scope_.node("Sqrt", {scope_.node("Div", {number, scope_.number(voxels)})});
  }

  OnnxScope scope_;
  const StatisticsSource& source_;
  std::vector<bool> used_;
  bool counts_;
  std::string mean_, centred_;
};

/// The number of dataset::all_features of such samples.
std::size_t features_of(const nn::InputSpec& input) {
  const std::size_t groups = dataset::feature_groups(static_cast<std::size_t>(input.size / 2)).size() - 1;
  return static_cast<std::size_t>(input.channels) * (2 * groups + 3 + kValueBins);
}

std::vector<std::int64_t> shape_of(const Eigen::MatrixXd& matrix) { return {matrix.rows(), matrix.cols()}; }

/// 1 / deviation, or 0 if float32 does not resolve how much a feature differs from its mean.
std::vector<double> inverse_deviations(const dataset::RegressionParts& parts) {
  constexpr double kLeast = 1e-6;
  std::vector<double> inverse;
  for (Eigen::Index f = 0; f < parts.mean.size(); ++f) {
    const double deviation = parts.deviation[f];
    inverse.push_back(deviation > kLeast * (1 + std::abs(parts.mean[f])) ? 1 / deviation : 0);
  }
  return inverse;
}

/// The products of scores (N, components), in the order of dataset::Regression, whose factors √½ are in the coefficients.
std::string append_products(OnnxScope& scope, const std::string& scores, std::int64_t components) {
  std::vector<std::int64_t> first, second;
  for (std::int64_t i = 0; i < components; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      first.push_back(i);
      second.push_back(j);
    }
  }
  const auto gather = [&](const std::vector<std::int64_t>& columns) {
    return scope.node("Gather", {scores, scope.integers(columns)},
                      OnnxAttributes().add("axis", std::int64_t{1}));
  };
  return scope.node("Mul", {gather(first), gather(second)});
}

/// The coefficients of standardised features and of products as append_products makes them (expanded, P).
Eigen::MatrixXd coefficients_of(const dataset::RegressionParts& parts) {
  Eigen::MatrixXd coefficients = parts.coefficients;
  Eigen::Index row = parts.mean.size();
  for (Eigen::Index i = 0; i < parts.components.cols(); row += ++i)
    coefficients.row(row + i) *= std::sqrt(0.5);  // the last of its row of products is the square
  return coefficients;
}

}  // namespace

std::size_t regression_constant_bytes(const nn::InputSpec& input) {
  const auto side = static_cast<std::size_t>(input.size), waves = 2 * (side / 2 + 1);
  constexpr std::size_t kBytesPerFeature = 256;  // coefficients, components and what standardises it
  return sizeof(float) * 2 * side * waves + kBytesPerFeature * features_of(input);
}

std::string append_regression(OnnxGraph& graph, const StatisticsSource& source,
                              const dataset::StatisticsRegression& regression) {
  const dataset::RegressionParts parts = regression.parts();
  std::vector<bool> used(features_of(source.input));
  std::vector<std::int64_t> chosen;
  for (const Eigen::Index feature : parts.used) {
    core::ensure(
        feature < static_cast<Eigen::Index>(used.size()), core::Fault::format,
        "The model's baseline.h5 has learned from other statistics than its input has: restore it, or "
        "train again.");
    used[static_cast<std::size_t>(feature)] = true;
    chosen.push_back(feature);
  }
  const std::string features = StatisticsNodes(graph, source, std::move(used)).append();
  OnnxScope scope(graph, "regression");
  const auto width = static_cast<std::int64_t>(chosen.size());
  const std::string own =
      scope.node("Gather", {features, scope.integers(chosen)}, OnnxAttributes().add("axis", std::int64_t{1}));
  const std::string centred =
      scope.node("Sub", {own, scope.numbers({width}, dataset::row_major<double>(parts.mean))});
  std::string expanded = scope.node("Mul", {centred, scope.numbers({width}, inverse_deviations(parts))});
  if (parts.components.cols() > 0) {
    const std::string scores = scope.node(
        "MatMul",
        {expanded, scope.numbers(shape_of(parts.components), dataset::row_major<double>(parts.components))});
    expanded = scope.concat({expanded, append_products(scope, scores, parts.components.cols())}, 1);
  }
  const Eigen::MatrixXd coefficients = coefficients_of(parts);
  const std::string sum = scope.node(
      "MatMul", {expanded, scope.numbers(shape_of(coefficients), dataset::row_major<double>(coefficients))});
  return scope.node(
      "Add", {sum, scope.numbers({parts.intercept.size()}, dataset::row_major<double>(parts.intercept))});
}

}  // namespace cosmo::infer
