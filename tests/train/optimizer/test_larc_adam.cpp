#include <omp.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "core/error.hpp"
#include "core/run/options.hpp"
#include "tests/train/arena.hpp"
#include "train/optimizer/larc_adam.hpp"

using namespace cosmo;
using test::Arena;
using train::LarcMode;

namespace {

constexpr int kSteps = 10;

double norm(const std::vector<double>& x) {
  double sum = 0;
  for (const double value : x) sum += value * value;
  return std::sqrt(sum);
}

/// The equations of section III-B and of Adam, one parameter, in double and without regard to speed.
class Reference {
 public:
  Reference(std::span<const float> values, LarcMode mode)
      : x(values.begin(), values.end()), mode_(mode), m_(x.size()), v_(x.size()) {}

  void step(std::span<const float> gradient, int n, double eta) {
    std::vector<double> g(gradient.begin(), gradient.end()), update(x.size());
    const auto local = [&](const std::vector<double>& other) {
      return norm(x) != 0 && norm(other) != 0 ? 0.002 * norm(x) / norm(other) : 6.25e-5;
    };
    if (mode_ == LarcMode::paper) {
      const double clipped = std::min(local(g), 1.0);
      for (double& value : g) value *= clipped;
    }
    const double unbias = std::sqrt(1 - std::pow(0.999, n + 1)) / (1 - std::pow(0.9, n + 1));
    for (std::size_t i = 0; i < x.size(); ++i) {
      m_[i] = 0.9 * m_[i] + 0.1 * g[i];
      v_[i] = 0.999 * v_[i] + 0.001 * g[i] * g[i];
      update[i] = unbias * m_[i] / (std::sqrt(v_[i]) + 1e-8);
    }
    const double rate = mode_ == LarcMode::trust_ratio ? std::min(local(update), eta) : eta;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] -= rate * update[i];
  }

  std::vector<double> x;

 private:
  LarcMode mode_;
  std::vector<double> m_, v_;
};

train::LarcAdamConfig config_of(LarcMode mode) {
  train::LarcAdamConfig config;
  config.larc = mode;
  config.learning_rate.decay_steps = 20;
  return config;
}

/// ‖change‖ of the first parameter after ten steps with gradients × scale.
double path_length(LarcMode mode, float scale) {
  Arena arena;
  const std::vector<float> start = arena.values;
  train::LarcAdam optimizer(arena.parameters, config_of(mode));
  for (int n = 0; n < kSteps; ++n) {
    arena.set_gradients(n, scale);
    optimizer.step(n);
  }
  std::vector<double> change;
  for (std::size_t i = 0; i < Arena::kSpecs[0].size; ++i) {
    change.push_back(static_cast<double>(arena.values[i]) - static_cast<double>(start[i]));
  }
  return norm(change);
}

}  // namespace

TEST_CASE("LARC and Adam follow an independent implementation in double over ten steps") {
  for (const LarcMode mode : {LarcMode::paper, LarcMode::trust_ratio, LarcMode::off}) {
    Arena arena;
    const train::LarcAdamConfig config = config_of(mode);
    train::LarcAdam optimizer(arena.parameters, config);
    std::vector<Reference> references;
    for (const nn::Parameter& parameter : arena.parameters) references.emplace_back(parameter.values, mode);
    for (int n = 0; n < kSteps; ++n) {
      arena.set_gradients(n);
      optimizer.step(n);
      for (const nn::Parameter& parameter : arena.parameters) {
        references[parameter.index].step(parameter.gradient, n, config.learning_rate.at(n));
      }
    }
    for (const nn::Parameter& parameter : arena.parameters) {
      double worst = 0;
      for (std::size_t i = 0; i < parameter.values.size(); ++i) {
        const double expected = references[parameter.index].x[i];
        worst = std::max(worst, std::abs(static_cast<double>(parameter.values[i]) - expected));
      }
      INFO("mode " << static_cast<int>(mode) << ", parameter " << parameter.index);
      CHECK(worst < 2e-6);  // of steps of up to 2e-3
    }
  }
}

TEST_CASE("AdamW takes a share of the weights, not of the biases, before Adam's update") {
  Arena arena;
  arena.parameters[1].role = nn::Parameter::Role::biases;
  train::LarcAdamConfig config = config_of(LarcMode::off);
  config.weight_decay = 0.1;
  train::LarcAdam optimizer(arena.parameters, config);
  std::vector<Reference> references;
  for (const nn::Parameter& parameter : arena.parameters)
    references.emplace_back(parameter.values, LarcMode::off);
  for (int n = 0; n < kSteps; ++n) {
    arena.set_gradients(n);
    optimizer.step(n);
    for (const nn::Parameter& parameter : arena.parameters) {
      Reference& reference = references[parameter.index];
      const double share = parameter.index == 1 ? 0 : 0.1 * config.learning_rate.at(n);
      for (double& value : reference.x) value *= 1 - share;
      reference.step(parameter.gradient, n, config.learning_rate.at(n));
    }
  }
  for (const nn::Parameter& parameter : arena.parameters) {
    INFO("parameter " << parameter.index);
    for (std::size_t i = 0; i < parameter.values.size(); ++i)
      REQUIRE(static_cast<double>(parameter.values[i]) ==
              Approx(references[parameter.index].x[i]).margin(2e-6));
  }
  config.weight_decay = 1;
  CHECK_THROWS_AS(train::LarcAdam(arena.parameters, config), core::Error);
}

TEST_CASE("the optimizer gives the same bits for any number of threads and leaves padding zero") {
  const int threads = omp_get_max_threads();
  for (const LarcMode mode : {LarcMode::paper, LarcMode::trust_ratio}) {
    std::vector<std::vector<float>> results;
    for (const int count : {1, 2, 5}) {
      omp_set_num_threads(count);
      Arena arena;
      train::LarcAdam optimizer(arena.parameters, config_of(mode));
      for (int n = 0; n < kSteps; ++n) {
        arena.set_gradients(n);
        optimizer.step(n);
      }
      results.push_back(arena.values);
      for (std::size_t i = 20037; i < 20048; ++i) {
        REQUIRE(arena.values[i] == 0);
        REQUIRE(optimizer.moments()[1].values[i] == 0);
      }
    }
    omp_set_num_threads(threads);
    CHECK(results[0] == results[1]);
    CHECK(results[0] == results[2]);
  }
}

TEST_CASE("LARC as printed hardly limits a step, the trust ratio does") {
  // The first parameter's ‖g‖ is some twenty times ‖v‖: LARC scales its gradient by about 1e-4.
  const double adam = path_length(LarcMode::off, 1);
  const double paper = path_length(LarcMode::paper, 1);
  const double trust = path_length(LarcMode::trust_ratio, 1);
  INFO("ten steps move " << adam << " with Adam, " << paper << " as printed, " << trust
                         << " with the trust ratio");
  CHECK(paper / adam > 0.98);
  CHECK(path_length(LarcMode::paper, 1000) == Approx(paper).epsilon(1e-5));
  CHECK(trust / adam < 0.1);
}

TEST_CASE("optimizer values out of range are refused") {
  Arena arena;
  train::LarcAdamConfig config;
  config.beta1 = 1;
  CHECK_THROWS_AS(train::LarcAdam(arena.parameters, config), core::Error);
}

TEST_CASE("LARC's mode is named on the command line") {
  const auto mode = [](const std::string& name) {
    core::Options options;
    options.add("larc", "paper", "", core::names_in(train::kLarcModes));
    options.parse({"--larc", name});
    return options.entry("larc", train::kLarcModes).value;
  };
  CHECK(mode("paper") == LarcMode::paper);
  CHECK(mode("trust-ratio") == LarcMode::trust_ratio);
  CHECK(mode("off") == LarcMode::off);
  CHECK_THROWS_AS(mode("lars"), core::Error);
}
