#include <catch2/catch.hpp>
#include <cmath>

#include "nn/model/model_manifest.hpp"

using namespace cosmo;

namespace {

/// A model of two parameters with these rms errors on the validation universes.
nn::ModelManifest model(const std::vector<double>& errors) {
  nn::ModelManifest made{};
  made.parameters = {{"a", "b"}, {0, -10}, {2, 10}};
  made.labels = {{1, 0}, {0.5, 6}};
  made.validation.per_universe = made.validation.per_subvolume = errors;
  return made;
}

}  // namespace

TEST_CASE("errors are measured by the spread of the training labels") {
  CHECK(model({0.25, 9}).scaled_errors() == std::vector{0.5, 1.5});
  CHECK(model({0.25, 9}).below_centre() == std::vector<std::string>{"b"});
  CHECK(model({0.5, 6}).below_centre() == std::vector<std::string>{"a", "b"});  // no better than their mean
  CHECK(model({0.4, 5}).below_centre().empty());
  CHECK(model({}).below_centre().empty());  // no epoch is finished
}

TEST_CASE("a network is compared with the mean on the same universes, where that is known") {
  nn::ModelManifest few = model({0.6, 5});
  few.labels->validation_rms = {
      0.7, 4};  // few universes of validation: a's labels spread further than in training
  CHECK(few.below_centre() == std::vector<std::string>{"b"});
  few.labels->validation_rms = {0, 0};  // all at the mean: no measure
  CHECK(few.below_centre() == std::vector<std::string>{"a"});
}

TEST_CASE("labels of unknown spread, or without any, count as spread evenly over their range") {
  nn::ModelManifest without = model({0.25, 9});
  without.labels.reset();
  CHECK(without.label_deviations()[1] == Approx(20 / std::sqrt(12)));
  nn::ModelManifest alike = model({0.25, 9});
  alike.labels->standard_deviation[0] = 0;
  CHECK(alike.label_deviations()[0] == Approx(2 / std::sqrt(12)));
  CHECK(alike.label_deviations()[1] == 6);
}

TEST_CASE("a training has diverged if its squared error is ten times that of the mean") {
  // In label units the mean has 1/3 + 0.36: labels of a are closer together than evenly spread ones.
  CHECK_FALSE(model({0.5, 6}).diverged());
  CHECK_FALSE(model({std::sqrt(6.9), 0}).diverged());
  CHECK(model({std::sqrt(7.0), 0}).diverged());
  CHECK_FALSE(model({}).diverged());
  nn::ModelManifest begun = model({std::sqrt(7.0), 0});
  begun.checkpoints = {{1, 19, "", "", 1.0, true}};
  CHECK_FALSE(begun.diverged());
  begun.checkpoints.back().step = 20;
  CHECK(begun.diverged());
  begun.checkpoints.back().step = 1;
  begun.validation.per_subvolume = {std::sqrt(700.0), 0};
  CHECK(begun.diverged());
}
