#include <catch2/catch.hpp>
#include <vector>

#include "dataset/regression/baseline_labels.hpp"

using namespace cosmo;

TEST_CASE("shares minimise the squared error of the mixture, and stay within 0 and 1") {
  // Parameter 0: truth half way; 1: the network is right; 2: the truth is beyond the regression.
  const std::vector<float> said = {0, 1, 0, 2, 3, 1}, labels = {2, 2, 1, 0, 5, 2}, truth = {1, 1, 3, 1, 3, 4};
  dataset::BaselineLabels baseline(labels, 3);
  CHECK(baseline.shares() == std::vector<double>{0, 0, 0});
  baseline.choose_shares(said, truth);
  CHECK(baseline.shares()[0] == Approx(0.5));
  CHECK(baseline.shares()[1] == 0);
  CHECK(baseline.shares()[2] == 1);
  CHECK(baseline.mix(said) == std::vector<float>{1, 1, 1, 1, 3, 2});
}

TEST_CASE("labels equal to the network's have no share") {
  const std::vector<float> said = {1, 2};
  dataset::BaselineLabels same(said, 2);
  same.choose_shares(said, std::vector<float>{3, 4});
  CHECK(same.shares() == std::vector<double>{0, 0});
  CHECK(same.mix(said) == said);
}
