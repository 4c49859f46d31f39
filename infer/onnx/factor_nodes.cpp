#include "infer/onnx/factor_nodes.hpp"

#include <cmath>
#include <numbers>
#include <utility>

#include "nn/density/cut_mixture.hpp"

namespace cosmo::infer {

namespace {

using nn::kOutputsPerComponent;

constexpr int kNodes = 24;  ///< number for each component
constexpr double kReach =
    6;  ///< a component is ignored where it is below exp(-kReach² / 2) of its highest density

/// Gauss-Legendre nodes in [0, 1], and the logarithms of their weights: the roots of a Legendre polynomial by Newton's
/// steps (Abramowitz & Stegun 25.4.29 and 8.5.3).
struct Rule {
  std::vector<double> nodes, log_weights;

  Rule() {
    for (int i = 0; i < kNodes; ++i) {
      double x = -std::cos(std::numbers::pi * (i + 0.75) / (kNodes + 0.5)), slope = 0;
      for (int step = 0; step < 20; ++step) {
        double before = 1, value = x;
        for (int n = 2; n <= kNodes; ++n)
          before = std::exchange(value, ((2 * n - 1) * x * value - (n - 1) * before) / n);
        slope = kNodes * (x * value - before) / (x * x - 1);
        x -= value / slope;
      }
      nodes.push_back((1 + x) / 2);
      log_weights.push_back(-std::log((1 - x * x) * slope * slope));
    }
  }
};

/// The numbers of one factor's networks, those of all members one after another, as the graph multiplies with them.
/// Outputs are ordered by kind (log weights, centres, log deviations), not by component.
class FactorConstants {
 public:
  FactorConstants(const nn::ConditionalDensity& density, std::size_t parameter)
      : density_(density), parameter_(parameter), shape_(density.member(0)[parameter].shape()) {}

  std::int64_t members() const { return static_cast<std::int64_t>(density_.members()); }
  std::int64_t hidden() const { return shape_.hidden; }
  std::int64_t outputs() const { return shape_.outputs; }
  std::int64_t components() const { return shape_.outputs / kOutputsPerComponent; }
  /// Rows of the linear part: first layer, skip, and the centre of the factor's unit.
  std::int64_t rows() const { return hidden() + outputs() + 1; }

  /// The linear part's coefficients of input f (members, rows).
  std::vector<double> of_input(std::size_t f) const {
    std::vector<double> values;
    for (std::size_t m = 0; m < density_.members(); ++m) {
      const nn::FactorNetwork::View parts = density_.member(m)[parameter_].view();
      for (std::size_t row = 0; row < size(hidden()); ++row)
        values.push_back(parts.first[row * inputs() + f]);
      for (const std::size_t output : order()) values.push_back(parts.skip[output * inputs() + f]);
      const nn::Coordinates& coordinates = density_.coordinates();
      values.push_back(coordinates.factor()[centre_row() * coordinates.size() + f]);
    }
    return values;
  }
  /// Its constants (members, rows).
  std::vector<double> biases() const {
    std::vector<double> values;
    for (std::size_t m = 0; m < density_.members(); ++m) {
      const nn::FactorNetwork::View parts = density_.member(m)[parameter_].view();
      values.insert(values.end(), parts.first_biases.begin(), parts.first_biases.end());
      for (const std::size_t output : order()) values.push_back(parts.biases[output]);
      values.push_back(density_.coordinates().mean()[centre_row()]);
    }
    return values;
  }
  /// The second layer, transposed (members, hidden, hidden), and its biases (members, hidden).
  std::vector<double> second() const {
    return of_members([&](const auto& parts, std::vector<double>& values) {
      for (std::size_t in = 0; in < size(hidden()); ++in) {
        for (std::size_t out = 0; out < size(hidden()); ++out)
          values.push_back(parts.second[out * size(hidden()) + in]);
      }
    });
  }
  std::vector<double> second_biases() const {
    return of_members([](const auto& parts, std::vector<double>& values) {
      values.insert(values.end(), parts.second_biases.begin(), parts.second_biases.end());
    });
  }
  /// The last layer, transposed (members, hidden, outputs).
  std::vector<double> last() const {
    return of_members([&](const auto& parts, std::vector<double>& values) {
      for (std::size_t in = 0; in < size(hidden()); ++in) {
        for (const std::size_t output : order()) values.push_back(parts.last[output * size(hidden()) + in]);
      }
    });
  }

 private:
  static std::size_t size(std::int64_t value) { return static_cast<std::size_t>(value); }
  std::size_t inputs() const { return static_cast<std::size_t>(shape_.inputs); }
  std::size_t centre_row() const { return density_.features() + parameter_; }

  template <class Append>
  std::vector<double> of_members(const Append& append) const {
    std::vector<double> values;
    for (std::size_t m = 0; m < density_.members(); ++m)
      append(density_.member(m)[parameter_].view(), values);
    return values;
  }

  std::vector<std::size_t> order() const {
    std::vector<std::size_t> numbers;
    for (std::size_t kind = 0; kind < kOutputsPerComponent; ++kind) {
      for (std::size_t k = 0; k < size(components()); ++k) numbers.push_back(kOutputsPerComponent * k + kind);
    }
    return numbers;
  }

  const nn::ConditionalDensity& density_;
  std::size_t parameter_;
  nn::FactorShape shape_;
};

/// A factor given `earlier` parameters: appends its network, its mixture and its quadrature.
class FactorNodes {
 public:
  FactorNodes(OnnxScope& scope, const nn::ConditionalDensity& density,
              const std::vector<ParameterNodes>& earlier)
      : scope_(scope),
        density_(density),
        earlier_(earlier),
        constants_(density, earlier.size()),
        rank_(3 + earlier.size()),
        scale_(density.coordinates().scale_of(earlier.size())),
        widening_(density.widening()[earlier.size()]) {}

  ParameterNodes append(const std::string& coordinates) {
    const std::string linear = append_linear(coordinates);
    const std::int64_t h = constants_.hidden(), outputs = constants_.outputs(), k = constants_.components();
    const std::string first = bend(scope_.part(linear, 0, h));
    const std::string sum = scope_.node("MatMul", {first, of_members({h, h}, constants_.second())});
    const std::string second =
        bend(scope_.node("Add", {sum, of_members({1, h}, constants_.second_biases())}));
    const std::string bent = scope_.node("MatMul", {second, of_members({h, outputs}, constants_.last())});
    const std::string all = scope_.node("Add", {bent, scope_.part(linear, h, h + outputs)});
    const std::string unit_centre = scope_.part(linear, h + outputs, h + outputs + 1);
    const std::string weights = softmax(limit(scope_.part(all, 0, k), nn::kLogWeightLimit));
    const std::string centres = append_centres(scope_.part(all, k, 2 * k), weights, unit_centre);
    const std::string log_deviations = limit(scope_.part(all, 2 * k, 3 * k), nn::kLogDeviationLimit);
    const std::string deviations =
        scope_.node("Mul", {scope_.node("Exp", {log_deviations}), scope_.number(scale_ * widening_)});
    return append_quadrature(weights, centres, deviations, unit_centre);
  }

 private:
  /// A constant for each member, for tensors of this level with these last axes.
  std::string of_members(const std::vector<std::int64_t>& last, const std::vector<double>& values) {
    std::vector<std::int64_t> shape = {constants_.members()};
    shape.resize(rank_ - 2,
                 1);  // the level has N, members, 1 ... before its last axis, which is that of rows
    shape.insert(shape.end(), last.begin(), last.end());
    return scope_.numbers(shape, values);
  }

  /// The linear part of coordinates and of the earlier parameters: (level, rows).
  std::string append_linear(const std::string& coordinates) {
    const std::int64_t members = constants_.members(), rows = constants_.rows();
    const std::size_t features = density_.features();
    std::vector<double> matrix;  // (features, members × rows)
    for (std::size_t f = 0; f < features; ++f) {
      const std::vector<double> row = constants_.of_input(f);
      matrix.insert(matrix.end(), row.begin(), row.end());
    }
    const std::int64_t width = members * rows;
    const std::string product = scope_.node(
        "Gemm", {coordinates, scope_.numbers({static_cast<std::int64_t>(features), width}, matrix),
                 scope_.numbers({width}, constants_.biases())});
    std::vector<std::int64_t> shape = {-1, members};
    shape.resize(rank_, 1);
    shape.push_back(rows);
    std::string linear = scope_.reshape(product, shape);
    for (std::size_t j = 0; j < earlier_.size(); ++j) {
      const std::string y = scope_.deepen(earlier_[j].y, 4 + j, earlier_.size() - j);
      const std::string term =
          scope_.node("Mul", {y, of_members({1, rows}, constants_.of_input(features + j))});
      linear = scope_.node("Add", {linear, term});
    }
    return linear;
  }

  /// x (27 + x²) / (27 + 9 x²) of x cut off at ±3.
  std::string bend(const std::string& given) {
    const std::string x = scope_.clip(given, nn::kBend), square = scope_.node("Mul", {x, x});
    const std::string above = scope_.node("Mul", {x, scope_.node("Add", {square, scope_.number(27)})});
    const std::string nine = scope_.node("Mul", {square, scope_.number(9)});
    return scope_.node("Div", {above, scope_.node("Add", {nine, scope_.number(27)})});
  }

  /// u / √(1 + (u / limit)²)
  std::string limit(const std::string& u, double limit) {
    const std::string part = scope_.node("Mul", {u, scope_.number(1 / limit)});
    const std::string square = scope_.node("Mul", {part, part});
    return scope_.node("Div", {u, scope_.node("Sqrt", {scope_.node("Add", {square, scope_.number(1)})})});
  }

  std::string softmax(const std::string& logs) {
    return scope_.node("Softmax", {logs}, OnnxAttributes().add("axis", std::int64_t{-1}));
  }

  /// Centres in label units (level, components), widened about their weighted mean.
  std::string append_centres(const std::string& centres, const std::string& weights,
                             const std::string& unit_centre) {
    std::string widened = centres;
    if (constants_.components() > 1) {
      const std::string mean =
          scope_.deepen(scope_.sum(scope_.node("Mul", {weights, centres}), -1), rank_, 1);
      const std::string apart = scope_.node("Sub", {centres, mean});
      widened = scope_.node("Add", {mean, scope_.node("Mul", {apart, scope_.number(widening_)})});
    }
    return scope_.node("Add", {unit_centre, scope_.node("Mul", {widened, scope_.number(scale_)})});
  }

  /// The nodes of all components. In units of a component's deviation and from its highest place in the range, which is
  /// `away` from its centre, the logarithm of its density is -z (z / 2 + away) at z.
  ParameterNodes append_quadrature(const std::string& weights, const std::string& centres,
                                   const std::string& deviations, const std::string& unit_centre) {
    const auto over = [&](const std::string& x) { return scope_.deepen(x, rank_ + 1, 1); };
    const std::string top = scope_.clip(centres, 1);
    const std::string away = scope_.node("Div", {scope_.node("Sub", {top, centres}), deviations});
    const std::string distance = scope_.node("Abs", {away});
    const std::string square =
        scope_.node("Add", {scope_.node("Mul", {away, away}), scope_.number(kReach * kReach)});
    const std::string sum = scope_.node("Add", {distance, scope_.node("Sqrt", {square})});
    const std::string reach = scope_.node("Div", {scope_.number(kReach * kReach), sum});
    const auto end = [&](double side) {
      return scope_.node("Div", {scope_.node("Sub", {scope_.number(side), top}), deviations});
    };
    const std::string low = scope_.node("Max", {end(-1), scope_.node("Neg", {reach})});
    const std::string high = scope_.node("Min", {end(1), reach});
    const Rule rule;
    const std::string span = over(scope_.node("Sub", {high, low}));
    const std::string z =
        scope_.node("Add", {over(low), scope_.node("Mul", {span, scope_.numbers({kNodes}, rule.nodes)})});
    const std::string half = scope_.node("Mul", {z, scope_.number(-0.5)});
    const std::string log = scope_.node("Mul", {z, scope_.node("Sub", {half, over(away)})});
    const std::string within = softmax(scope_.node("Add", {log, scope_.numbers({kNodes}, rule.log_weights)}));
    const std::string all_weights = flat(scope_.node("Mul", {within, over(weights)}));
    const std::string theta =
        flat(scope_.node("Add", {over(top), scope_.node("Mul", {z, over(deviations)})}));
    const std::string y =
        scope_.node("Div", {scope_.node("Sub", {theta, unit_centre}), scope_.number(scale_)});
    return {theta, y, all_weights};
  }

  /// (level, components, nodes) as (level, components × nodes)
  std::string flat(const std::string& x) {
    std::vector<std::int64_t> shape(rank_);  // 0: as it is
    shape.push_back(constants_.components() * kNodes);
    return scope_.reshape(x, shape);
  }

  OnnxScope& scope_;
  const nn::ConditionalDensity& density_;
  const std::vector<ParameterNodes>& earlier_;
  FactorConstants constants_;
  std::size_t rank_;  ///< rank of the level that the factor is conditioned on
  double scale_, widening_;
};

}  // namespace

std::string append_coordinates(OnnxScope& scope, const nn::Coordinates& coordinates,
                               const std::string& predictions) {
  const std::size_t features = coordinates.features(), size = coordinates.size();
  const auto width = static_cast<std::int64_t>(features);
  std::string rest =
      scope.node("Sub", {predictions, scope.numbers({width}, coordinates.mean().first(features))});
  std::vector<std::string> parts;
  for (std::size_t f = 0; f < features; ++f) {
    const double deviation = coordinates.factor()[f * size + f];
    const auto at = static_cast<std::int64_t>(f);
    const std::string scaled =
        scope.node("Mul", {scope.part(rest, at, at + 1), scope.number(deviation > 0 ? 1 / deviation : 0)});
    parts.push_back(scope.clip(scaled, nn::Coordinates::kFarthest));
    std::vector<double> slopes(features);
    for (std::size_t later = f + 1; later < features; ++later)
      slopes[later] = coordinates.factor()[later * size + f];
    if (f + 1 < features)
      rest = scope.node("Sub", {rest, scope.node("Mul", {parts.back(), scope.numbers({width}, slopes)})});
  }
  return scope.concat(parts, 1);
}

ParameterNodes append_factor(OnnxScope& scope, const nn::ConditionalDensity& density,
                             const std::string& coordinates, const std::vector<ParameterNodes>& earlier) {
  return FactorNodes(scope, density, earlier).append(coordinates);
}

}  // namespace cosmo::infer
