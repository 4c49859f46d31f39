#include "infer/onnx/posterior_nodes.hpp"

#include <vector>

#include "infer/onnx/factor_nodes.hpp"
#include "infer/onnx/onnx_scope.hpp"

namespace cosmo::infer {

namespace {

/// Appends the moments of parameters given by their nodes, in label coordinates.
class MomentNodes {
 public:
  MomentNodes(OnnxScope& scope, const std::vector<ParameterNodes>& parameters)
      : scope_(scope), parameters_(parameters) {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      means_.push_back(expectation(parameters_[i].theta, i + 1));
      // From (N, 1) to the rank of the parameter's level, 4 + i.
      apart_.push_back(scope_.node("Sub", {parameters_[i].theta, scope_.deepen(means_[i], 2, 2 + i)}));
    }
  }

  const std::vector<std::string>& means() const { return means_; }  ///< (P), each (N, 1)
  /// The covariances (P × P), each (N, 1).
  std::vector<std::string> covariances() {
    const std::size_t count = parameters_.size();
    std::vector<std::string> all(count * count);
    for (std::size_t i = 0; i < count; ++i) {
      std::string own = apart_[i];  // its mean given the parameters up to j
      for (std::size_t j = i;; --j) {
        all[i * count + j] = all[j * count + i] = expectation(scope_.node("Mul", {own, apart_[j]}), j + 1);
        if (j == 0) break;
        own = given_earlier(own, j);
      }
    }
    return all;
  }

 private:
  /// The mean over a parameter of a tensor of its level, given the earlier ones.
  std::string given_earlier(const std::string& values, std::size_t parameter) {
    return scope_.sum(scope_.node("Mul", {values, parameters_[parameter].weights}), -1);
  }

  /// The mean (N, 1) of a tensor that depends on the first `count` parameters.
  std::string expectation(std::string values, std::size_t count) {
    for (std::size_t i = count; i > 0; --i) values = given_earlier(values, i - 1);
    return scope_.node(
        "ReduceMean", {values},  // over the members
        OnnxAttributes().add("axes", std::vector<std::int64_t>{1}).add("keepdims", std::int64_t{0}));
  }

  OnnxScope& scope_;
  const std::vector<ParameterNodes>& parameters_;
  std::vector<std::string> means_, apart_;
};

}  // namespace

void append_posterior(OnnxGraph& graph, const nn::ConditionalDensity& density,
                      const core::ParameterSpace& space, const std::string& predictions) {
  OnnxScope scope(graph, "posterior");
  const std::string coordinates = append_coordinates(scope, density.coordinates(), predictions);
  std::vector<ParameterNodes> parameters;
  for (std::size_t i = 0; i < density.parameters(); ++i)
    parameters.push_back(append_factor(scope, density, coordinates, parameters));
  MomentNodes moments(scope, parameters);
  const std::vector<std::string> covariances = moments.covariances();
  const std::size_t count = space.size();
  std::vector<double> centre, half, products;
  std::vector<std::string> variances;
  for (std::size_t p = 0; p < count; ++p) {
    centre.push_back((space.low[p] + space.high[p]) / 2);
    half.push_back((space.high[p] - space.low[p]) / 2);
    variances.push_back(covariances[p * count + p]);
  }
  for (std::size_t p = 0; p < count; ++p) {
    for (std::size_t q = 0; q < count; ++q) products.push_back(half[p] * half[q]);
  }
  const auto width = static_cast<std::int64_t>(count);
  const std::string halves = scope.numbers({width}, half);
  const std::string apart = scope.node("Mul", {scope.concat(moments.means(), 1), halves});
  graph.node("Add", {apart, scope.numbers({width}, centre)}, "posterior_mean");
  const std::string deviations = scope.node("Sqrt", {scope.concat(variances, 1)});
  graph.node("Mul", {deviations, halves}, "posterior_deviation");
  const std::string scaled =
      scope.node("Mul", {scope.concat(covariances, 1), scope.numbers({width * width}, products)});
  graph.node("Reshape", {scaled, scope.integers({-1, width, width})}, "posterior_covariance");
  graph.output("posterior_mean", {width});
  graph.output("posterior_deviation", {width});
  graph.output("posterior_covariance", {width, width});
}

}  // namespace cosmo::infer
