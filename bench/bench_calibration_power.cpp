// How often checks of calibration find right and wrong posteriors wrong, where the exact posterior is known: three parameters
// are drawn from the flat prior and measured with correlated Gaussian noise, so that it is a cut Gaussian.

#include <array>
#include <cmath>
#include <functional>
#include <vector>

#include "core/log.hpp"
#include "core/random.hpp"
#include "core/run/tool.hpp"
#include "infer/evaluate/calibration_check.hpp"
#include "infer/evaluate/uncertainty.hpp"
#include "nn/posterior/small_matrix.hpp"

namespace {

using namespace cosmo;
using nn::Matrix;
using nn::TruncatedGaussian;
using nn::Vector;

constexpr int kParameters = 3;
constexpr double kNoise = 0.1, kCorrelation = 0.8;  // in label units; of the first two parameters
constexpr double kFarthest =
    2.638;  // |z| of six coverages, none of which is beyond with a probability of 95 %

struct Case {
  const char* name;
  std::function<void(TruncatedGaussian&)> change;
};

std::function<void(TruncatedGaussian&)> widened(double factor) {
  return [factor](TruncatedGaussian& gaussian) {
    gaussian = nn::mapped(gaussian, gaussian.centre,
                          nn::triangle_of(std::vector{factor, factor, factor}, kParameters));
  };
}

/// The lower triangle whose product with its transpose is the precision.
Matrix precision_factor(double correlation) {
  const double square = kNoise * kNoise;
  Matrix covariance{};
  for (std::size_t p = 0; p < kParameters; ++p) covariance[p][p] = square;
  covariance[0][1] = covariance[1][0] = correlation * square;
  return nn::factor_of(nn::inverse_product_of(nn::factor_of(covariance, kParameters), kParameters),
                       kParameters);
}

std::vector<Case> cases() {
  return {{"right", [](TruncatedGaussian&) {}},
          {"1.3 times too wide", widened(1.3)},
          {"1.3 times too narrow", widened(1 / 1.3)},
          {"one parameter shifted by half a deviation",
           [](TruncatedGaussian& gaussian) { gaussian.centre[2] += kNoise / 2; }},
          {"a correlation of the opposite sign",
           [](TruncatedGaussian& gaussian) { gaussian.factor = precision_factor(-kCorrelation); }}};
}

struct Verdicts {
  bool bands, coverage;  ///< whether the posteriors are found wrong
};

Verdicts check(const Case& which, std::uint32_t repeat, std::uint32_t universes) {
  const core::RandomStream stream(repeat, core::Purpose::gaussian_field);
  const Matrix factor = precision_factor(kCorrelation), mixing = nn::inverse_of(factor, kParameters);
  dataset::PredictionTable table{{{"a", "b", "c"}, {-1, -1, -1}, {1, 1, 1}}, {}};
  std::vector<infer::Distribution> stated;
  for (std::uint32_t u = 0; u < universes; ++u) {
    Vector truth{}, normal{};
    for (std::uint32_t p = 0; p < kParameters; ++p) {
      truth[p] = 2 * stream.uniform({u, p, 1}) - 1;
      normal[p] = stream.normals({u, p, 2})[0];
    }
    const Vector noise = nn::times(mixing, normal, kParameters);
    TruncatedGaussian posterior{kParameters, {}, factor};
    for (std::size_t p = 0; p < kParameters; ++p) posterior.centre[p] = truth[p] + noise[p];
    which.change(posterior);
    const std::vector<double> x(truth.begin(), truth.begin() + kParameters), one(kParameters, 1.0);
    table.rows.push_back({u, -1, u, x, {}});
    stated.push_back({{{1, nn::Mixture{nn::component(1, posterior)}}}, x, one, {}});
  }
  const infer::Uncertainty uncertainty = infer::evaluate_uncertainty(table, stated);
  const auto beyond = [&](double share, double expected) {
    return std::abs(share - expected) > kFarthest * std::sqrt(expected * (1 - expected) / universes);
  };
  Verdicts found{!infer::check_calibration(table, stated, uncertainty.below).holds(), false};
  for (const infer::Coverage& coverage : uncertainty.coverage)
    found.coverage |= beyond(coverage.within_1_sigma.value, infer::kWithin1Sigma) ||
                      beyond(coverage.within_2_sigma.value, infer::kWithin2Sigma);
  return found;
}

void declare(core::Options& options) {
  options.add("repeats N", "1000", "sets of universes");
  options.add("universes N", "1200", "universes in a set");
}

void run_benchmark(const core::Invocation& run) {
  const auto repeats = static_cast<std::uint32_t>(run.options.integer("repeats", 1, 1'000'000));
  const auto universes = static_cast<std::uint32_t>(run.options.integer("universes", 2, 1'000'000));
  core::Json summary = {{"repeats", repeats}, {"universes", universes}};
  std::string text = fmt::format("{:44}{:>8}{:>10}{:>8}\n", "found wrong by", "bands", "coverage", "either");
  core::Progress progress(run.log, "sets", static_cast<std::int64_t>(repeats * cases().size()));
  for (const Case& which : cases()) {
    double bands = 0, coverage = 0, either = 0;
    for (std::uint32_t repeat = 0; repeat < repeats; ++repeat) {
      const Verdicts found = check(which, repeat, universes);
      bands += found.bands ? 1.0 / repeats : 0;
      coverage += found.coverage ? 1.0 / repeats : 0;
      either += found.bands || found.coverage ? 1.0 / repeats : 0;
      progress.advance(1);
    }
    run.log.info("{}: {:.1f} % found wrong", which.name, 100 * either);
    summary[which.name] = {{"bands", bands}, {"coverage", coverage}, {"either", either}};
    text += fmt::format("{:44}{:6.1f} %{:8.1f} %{:6.1f} %\n", which.name, 100 * bands, 100 * coverage,
                        100 * either);
  }
  run.report(summary, text);
}

}  // namespace

int main(int argc, char** argv) {
  return core::run_tool(argc, argv,
                        {"bench-calibration-power",
                         "how often checks of calibration find posteriors wrong",
                         {},
                         {{"", "checks exact and wrong posteriors of universes whose posterior is known",
                           "bench-calibration-power --repeats 1000 --universes 1200", false,
                           core::OnStop::end, &declare, &run_benchmark}}});
}
