// Exact posteriors pass the checks of calibration, and others fail.
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "core/random.hpp"
#include "infer/evaluate/calibration_check.hpp"
#include "infer/evaluate/uncertainty.hpp"

using namespace cosmo;
using nn::Matrix;
using nn::TruncatedGaussian;
using nn::Vector;

namespace {

const core::ParameterSpace kUnitSpace{{"a", "b"}, {-1, -1}, {1, 1}};

struct Predicted {
  dataset::PredictionTable table{kUnitSpace, {}};
  std::vector<infer::Distribution> said;
};

/// Exact posteriors, changed by `wrong`, of truths drawn from the flat prior and measured with this noise and its
/// correlation.
template <class Wrong>
Predicted predicted(double noise, double correlation, const Wrong& wrong, std::uint32_t universes,
                    std::uint64_t seed) {
  const core::RandomStream stream(seed, core::Purpose::gaussian_field);
  const double square = noise * noise;
  const Matrix factor = nn::factor_of(
      nn::inverse_product_of(
          nn::factor_of({{{square, correlation * square}, {correlation * square, square}}}, 2), 2),
      2);
  const Matrix mixing = nn::inverse_of(factor, 2);
  Predicted made;
  for (std::uint32_t u = 0; u < universes; ++u) {
    const Vector truth = {2 * stream.uniform({u, 0, 1}) - 1, 2 * stream.uniform({u, 1, 1}) - 1};
    const Vector shift = nn::times(mixing, {stream.normals({u, 0, 2})[0], stream.normals({u, 1, 2})[0]}, 2);
    TruncatedGaussian posterior{2, {truth[0] + shift[0], truth[1] + shift[1]}, factor};
    wrong(posterior);
    made.table.rows.push_back({u, -1, u, {truth[0], truth[1]}, {}});
    made.said.push_back({{{1, nn::Mixture{nn::component(1, posterior)}}}, {0, 0}, {1, 1}, {}});
  }
  return made;
}

template <class Wrong>
infer::CalibrationCheck checked(double noise, double correlation, const Wrong& wrong,
                                std::uint32_t universes = 1200, std::uint64_t seed = 8) {
  const auto [table, said] = predicted(noise, correlation, wrong, universes, seed);
  return infer::check_calibration(table, said, infer::evaluate_uncertainty(table, said).below);
}

/// Two verdicts on each parameter, of its bins and of its intervals, and one on all together.
using Verdicts = std::vector<bool>;

Verdicts verdicts_of(const infer::CalibrationCheck& check) {
  return {check.rank_band.holds(check.ranks[0]), check.rank_band.holds(check.ranks[1]),
          check.interval_band.holds(check.within[0]), check.interval_band.holds(check.within[1]),
          check.cover_band.holds(check.covered)};
}

/// Stretches a posterior about its centre.
auto drawn_out(double factor) {
  return [factor](TruncatedGaussian& g) {
    g = nn::mapped(g, g.centre, nn::triangle_of(std::vector{factor, factor}, 2));
  };
}

}  // namespace

TEST_CASE("exact posteriors lie within the bands, cut by the ranges or not, 19 times of 20") {
  constexpr int kTrials = 20;
  for (const auto& [noise, correlation] : {std::pair{0.1, 0.0}, std::pair{0.6, -0.8}}) {
    std::vector<int> inside(5, 0);
    for (std::uint64_t seed = 0; seed < kTrials; ++seed) {
      const Verdicts verdicts = verdicts_of(checked(noise, correlation, drawn_out(1), 120, seed));
      for (std::size_t i = 0; i < inside.size(); ++i) inside[i] += verdicts[i] ? 1 : 0;
    }
    CAPTURE(noise, correlation, inside);
    CHECK(std::ranges::min(inside) >= 17);  // of 19 on average
  }
}

TEST_CASE("posteriors too narrow, too wide and shifted leave the bands") {
  CHECK(verdicts_of(checked(0.1, 0.3, drawn_out(1 / 1.3))) == Verdicts(5, false));
  CHECK(verdicts_of(checked(0.1, 0.3, drawn_out(1.3))) == Verdicts(5, false));
  const Verdicts shifted = verdicts_of(checked(0.1, 0, [](TruncatedGaussian& g) { g.centre[0] += 0.1; }));
  CHECK(shifted == Verdicts{false, true, false, true, false});
}

TEST_CASE("intervals show widths that bins of few universes seldom do") {
  constexpr std::uint32_t kUniverses = 200;
  constexpr std::array kBoth = {infer::Counted::in_bins, infer::Counted::in_intervals};
  std::vector<int> found(kBoth.size(), 0);
  std::vector<infer::Band> bands;
  for (const auto counted : kBoth) bands.push_back(infer::uniform_band(kUniverses, counted, 0.99));
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto [table, said] = predicted(0.1, 0, drawn_out(1 / 1.16), kUniverses, seed);
    std::vector<double> below;
    for (const Vector& of_row : infer::evaluate_uncertainty(table, said).below) below.push_back(of_row[0]);
    for (std::size_t i = 0; i < bands.size(); ++i)
      found[i] += bands[i].holds(infer::count(below, kBoth[i])) ? 0 : 1;
  }
  CAPTURE(found);
  CHECK(found[0] + 4 <= found[1]);
}

TEST_CASE("a wrong correlation is seen only by the check of all parameters together") {
  const auto mirrored = [](TruncatedGaussian& g) { g.factor[1][0] = -g.factor[1][0]; };
  CHECK(verdicts_of(checked(0.05, 0.9, mirrored)) == Verdicts{true, true, true, true, false});
}

TEST_CASE("a mixture whose truths were drawn from it is right, the Gaussian of its moments is not") {
  const core::RandomStream stream(13, core::Purpose::gaussian_field);
  const nn::Mixture two = {nn::component(0.7, {2, {0.4, -0.2}, {{{8, 0}, {0, 5}}}}),
                           nn::component(0.3, {2, {-0.5, 0.5}, {{{10, 0}, {0, 6}}}})};
  const nn::MixtureMoments moments = nn::moments_of(two);
  const nn::Mixture one = {nn::component(
      1,
      {2, moments.mean, nn::factor_of(nn::inverse_product_of(nn::factor_of(moments.covariance, 2), 2), 2)})};
  dataset::PredictionTable table{kUnitSpace, {}};
  std::vector<infer::Distribution> right, wrong;
  for (std::uint32_t u = 0; u < 1000; ++u) {
    const TruncatedGaussian& from = two[stream.uniform({u, 0, 1}) < 0.7 ? 0 : 1].gaussian;
    const auto [first, second] = stream.normals({u, 0, 2});  // hardly ever outside of the box
    const Vector truth = {from.centre[0] + first / from.factor[0][0],
                          from.centre[1] + second / from.factor[1][1]};
    table.rows.push_back({u, -1, u, {truth[0], truth[1]}, {}});
    right.push_back({{{1, two}}, {0, 0}, {1, 1}, {}});
    wrong.push_back({{{1, one}}, {0, 0}, {1, 1}, {}});
  }
  const auto verdicts = [&](const std::vector<infer::Distribution>& said) {
    return verdicts_of(infer::check_calibration(table, said, infer::evaluate_uncertainty(table, said).below));
  };
  CHECK(verdicts(right) == Verdicts(5, true));
  CHECK(verdicts(wrong) == Verdicts(5, false));
}

TEST_CASE("all universes are counted") {
  const infer::CalibrationCheck check = checked(0.2, 0, drawn_out(1), 7);
  int sum = 0;
  for (const int count : check.ranks[1]) sum += count;
  CHECK(sum == 7);
  CHECK(check.covered.size() == infer::kBins - 1);
  CHECK(std::ranges::is_sorted(check.covered));
}

TEST_CASE("numbers are counted in bins and below edges") {
  const std::vector<double> numbers = {0, 0.049, 0.05, 0.51, 1};
  const std::vector<int> bins = infer::count(numbers, infer::Counted::in_bins);
  const std::vector<int> below = infer::count(numbers, infer::Counted::below_edges);
  CHECK(bins.size() == 20);
  CHECK((bins[0] == 2 && bins[1] == 1 && bins[10] == 1 && bins[19] == 1));
  CHECK((below[0] == 2 && below[9] == 3 && below[10] == 4 && below[18] == 4));
}

TEST_CASE("uniform numbers stay within the band with a probability of 95 %") {
  const core::RandomStream stream(5, core::Purpose::gaussian_field);
  for (const auto counted : {infer::Counted::in_bins, infer::Counted::below_edges}) {
    for (const std::uint32_t numbers : {1u, 30u, 400u}) {
      const infer::Band band = infer::uniform_band(numbers, counted, 0.95);
      int held = 0;
      for (std::uint32_t set = 0; set < 2000; ++set) {
        std::vector<double> drawn;
        for (std::uint32_t i = 0; i < numbers; ++i) drawn.push_back(stream.uniform({set, i, numbers}));
        held += band.holds(infer::count(drawn, counted)) ? 1 : 0;
      }
      CAPTURE(numbers);
      CHECK(held > 0.935 * 2000);
      if (numbers == 400) CHECK(held < 0.975 * 2000);
    }
  }
}
