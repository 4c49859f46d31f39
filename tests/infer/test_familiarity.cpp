#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "core/random.hpp"
#include "infer/doubt/familiarity.hpp"

using namespace cosmo;

namespace {

constexpr int kSide = 8;
constexpr std::size_t kVoxels = kSide * kSide * kSide;

/// Samples of voxels of 2 Mpc/h with means from 1 to 2 and any P(k) that is not 0.
nn::ModelManifest model() {
  nn::ModelManifest model{};
  model.input = {{1, kSide}, {0}, core::Length(2)};
  model.normalisation = {"log1p", {0}, {1}, 1.5};
  dataset::SampleSummary summary({kSide, 2 * kSide}, {dataset::VoxelKind::counts, 1.5});
  const std::size_t bins = summary.k().size();
  model.range = nn::InputRange{10, summary.k(), {{1, 2, std::vector(bins, 1e-9), std::vector(bins, 1e9)}}};
  return model;
}

/// Counts of this mean, scattered.
std::vector<std::uint16_t> sample(double mean) {
  std::vector<std::uint16_t> counts(kVoxels);
  const auto particles = static_cast<std::uint32_t>(mean * kVoxels);
  const core::RandomStream stream(3, core::Purpose::bootstrap);
  for (std::uint32_t i = 0; i < particles; ++i)
    ++counts[static_cast<std::size_t>(stream.uniform({i, 0, 0}) * kVoxels)];
  return counts;
}

std::vector<std::string> warnings(const nn::ModelManifest& model, const std::vector<double>& means) {
  infer::Familiarity familiarity(model);
  for (const double mean : means) familiarity.add(std::span<const std::uint16_t>(sample(mean)));
  return familiarity.warnings();
}

}  // namespace

TEST_CASE("half of the logarithmic range beyond its ends is familiar, more is strange") {
  // From 1 to 2 that is down to 1 / sqrt(2) and up to 2 sqrt(2).
  CHECK(warnings(model(), {0.75, 1.5, 2.8}).empty());
  const auto high = warnings(model(), {1.5, 2.9, 4, 3});
  REQUIRE(high.size() == 1);
  CHECK(high[0].find(
            "mean count of a voxel is unlike the training data in 3 of 4 samples: as far off as 4, and "
            "1 to 2 in training") != std::string::npos);
  CHECK(warnings(model(), {0.65}).size() == 1);
}

TEST_CASE("counts of another size are compared by their mean") {
  infer::Familiarity familiarity(model());
  for (const std::uint16_t count : {std::uint16_t{1}, std::uint16_t{4}}) {
    const std::vector<std::uint16_t> larger(8 * kVoxels, count);  // without any power
    familiarity.add(std::span<const std::uint16_t>(larger));
  }
  const auto found = familiarity.warnings();
  REQUIRE(found.size() == 1);
  CHECK(found[0].find("in 1 of 2 samples: as far off as 4, and 1 to 2 in training") != std::string::npos);
}

TEST_CASE("an average of many samples may be outside by less") {
  const double outside = 2.5;  // below 2 sqrt(2), and above 2 exp(log(2) / 2 / sqrt(4)) = 2.38
  CHECK(warnings(model(), {outside}).empty());
  const auto found = warnings(model(), {outside, outside, outside, outside});
  REQUIRE(found.size() == 1);
  CHECK(found[0].find("on average of 4 samples: 2.5, and 1 to 2") != std::string::npos);
}

TEST_CASE("a range of a single value is familiar for a tenth around") {
  nn::ModelManifest narrow = model();
  narrow.range->channels[0].mean_high = 1;
  CHECK(warnings(narrow, {0.95, 1.08}).empty());
  CHECK(warnings(narrow, {1.2}).size() == 1);
}

TEST_CASE("P(k) is named with the bin that is furthest outside, once per channel") {
  nn::ModelManifest quiet = model();
  std::ranges::fill(quiet.range->channels[0].power_high, 1e-6);
  quiet.range->channels[0].power_high[2] = 1e-8;
  const auto found = warnings(quiet, {1.5, 1.6});
  REQUIRE(found.size() == 1);
  CHECK(found[0].find(fmt::format("P(k = {:.3g}", quiet.range->k[2])) != std::string::npos);
  CHECK(found[0].find("2 of 2 samples") != std::string::npos);
}

TEST_CASE("a model without a training range gives a warning that nothing was compared") {
  nn::ModelManifest old = model();
  old.range.reset();
  const auto found = warnings(old, {1});
  REQUIRE(found.size() == 1);
  CHECK(found.front().find("was not checked") != std::string::npos);
}

TEST_CASE("predictions outside of the range in training are reported, unless they are rare") {
  const core::ParameterSpace trained{{"omega_m", "n_s"}, {0.2, 0.9}, {0.4, 1.0}};
  std::vector<std::vector<double>> predictions(200, {0.3, 0.95});
  predictions[0] = {0.19, 1.009};  // by less than a tenth of the range
  predictions[1] = {0.17, 1.02};   // by more, but one or two in 200 are rare
  predictions[2] = {0.3, 1.02};
  CHECK(infer::predictions_outside(trained, predictions).empty());
  predictions[3] = {0.3, 0.88};
  const auto found = infer::predictions_outside(trained, predictions);
  REQUIRE(found.size() == 1);
  CHECK(
      found[0].starts_with("n_s is predicted outside of 0.9 to 1, its range in training, for 3 of 200 "
                           "universes: as far off as "));
  CHECK(infer::predictions_outside(trained, {{0.43, 0.95}}).size() == 1);  // a single universe
}
