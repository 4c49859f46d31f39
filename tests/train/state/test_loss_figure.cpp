#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "train/state/loss_figure.hpp"

using namespace cosmo;

namespace {

std::vector<train::EpochMetrics> history_of(int epochs, double decay) {
  std::vector<train::EpochMetrics> history;
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    const double loss = 0.5 * std::exp(-decay * (epoch - 1));
    history.push_back({epoch, epoch, 1e-3, loss, loss + 0.001 * (epoch % 3)});
  }
  return history;
}

bool has(const std::string& svg, const std::string& part) { return svg.find(part) != std::string::npos; }

/// The y of each point of curve 0 (training) or 1 (validation).
std::vector<double> heights(const std::string& svg, int curve) {
  std::size_t at = 0;
  for (int i = 0; i <= curve; ++i) at = svg.find("points=\"", at) + 8;
  std::vector<double> values;
  while (svg[at - 1] != '"' || values.empty()) {
    at = svg.find(',', at) + 1;
    std::size_t used = 0;
    values.push_back(std::stod(svg.substr(at, 12), &used));
    at += used + 1;
  }
  return values;
}

/// The epoch with the lowest validation loss.
const train::EpochMetrics& lowest(const std::vector<train::EpochMetrics>& history) {
  return *std::ranges::min_element(history, {}, &train::EpochMetrics::validation_loss);
}

}  // namespace

TEST_CASE("the loss figure has a point per epoch, both curves, and the epoch that is chosen") {
  const auto history = history_of(9, 0.1);
  const std::string svg = train::loss_figure(history, lowest(history), "cosmoflow", "mae");
  CHECK(svg == train::loss_figure(history, lowest(history), "cosmoflow", "mae"));
  CHECK(heights(svg, 0).size() == 9);
  CHECK(heights(svg, 1).size() == 9);
  CHECK(has(svg, "chosen: 0.2247, epoch 9"));
  CHECK(has(svg, "loss (mae)"));
}

TEST_CASE("losses within a factor of ten start at zero, others are logarithmic") {
  const std::string straight =
      train::loss_figure(history_of(2, std::log(2.0)), history_of(2, std::log(2.0))[1], "", "mae");
  const auto y = heights(straight, 0);  // 0.5 and 0.25
  CHECK(366 - y[0] == Approx(2 * (366 - y[1])).margin(0.2));
  CHECK(has(straight, ">0</text>"));
  const std::string decades =
      train::loss_figure(history_of(5, std::log(10.0)), history_of(5, std::log(10.0))[4], "", "mse");
  const auto z = heights(decades, 0);  // equal factors are equal distances
  for (std::size_t i = 2; i < z.size(); ++i) CHECK(z[i] - z[i - 1] == Approx(z[1] - z[0]).margin(0.2));
  CHECK(has(decades, ">0.001</text>"));
}

TEST_CASE("of a network with a baseline both curves are of the network alone") {
  auto history = history_of(9, 0.1);
  for (train::EpochMetrics& epoch : history) {
    epoch.columns.push_back({"baseline_share", false, {0.5}});
    epoch.loss_alone = epoch.train_loss;
    epoch.validation_loss = 0.01;  // of the mixture
  }
  const std::string svg = train::loss_figure(history, history[3], "cosmonet32", "mse");
  CHECK(heights(svg, 1) == heights(svg, 0));
  CHECK(has(svg, "cosmonet32 alone, without its baseline"));
  CHECK(has(svg, "chosen: 0.01 when mixed, epoch 4"));
  for (std::size_t e = 0; e < 5; ++e) history[e].loss_alone = {};  // epochs of an earlier version
  const std::string later = train::loss_figure(history, history[3], "cosmonet32", "mse");
  CHECK(heights(later, 0).size() == 9);
  CHECK(heights(later, 1).size() == 4);
  CHECK_FALSE(has(later, "chosen"));
}

TEST_CASE("a single epoch, a loss of zero and a name of special characters make a figure") {
  const std::string svg = train::loss_figure(history_of(1, 0), history_of(1, 0)[0], "a<b&c", "mae");
  CHECK(has(svg, "a&lt;b&amp;c"));
  CHECK_FALSE(has(svg, "nan"));
  CHECK_FALSE(has(svg, "inf"));
  auto below = history_of(3, 0);
  for (train::EpochMetrics& epoch : below) epoch.validation_loss = -0.31 * epoch.epoch;
  const std::string negative = train::loss_figure(below, lowest(below), "below zero", "gaussian");
  CHECK(has(negative, ">-1</text>"));
  CHECK_FALSE(has(negative, ">-1.5</text>"));
  auto zero = history_of(3, 0);
  for (train::EpochMetrics& epoch : zero) epoch.train_loss = epoch.validation_loss = 0;
  const std::string flat = train::loss_figure(zero, zero[0], "zero", "mae");
  CHECK_FALSE(has(flat, "nan"));
  CHECK_FALSE(has(flat, "inf"));
}
