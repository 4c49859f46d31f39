#include <catch2/catch.hpp>
#include <cmath>

#include "core/random.hpp"
#include "infer/evaluate/paired.hpp"

using namespace cosmo;

TEST_CASE("differences of correlated errors have smaller uncertainties than the errors") {
  const core::RandomStream stream(3, core::Purpose::bootstrap);
  const int universes = 200;
  dataset::PredictionTable network{{{"p"}, {0.0}, {4.0}}, {}};
  for (std::uint32_t u = 0; u < universes; ++u) {
    const double error = std::abs(stream.normals({u, 0, 0})[0]);
    for (int s = 0; s < 2; ++s) network.rows.push_back({u, s, u, {2.0}, {2.0 + error}});
  }
  dataset::PredictionTable method = network;
  for (std::uint32_t u = 0; u < universes; ++u) {
    const double worse = 0.2 + 0.1 * stream.normals({u, 0, 1})[0];
    for (std::size_t s = 0; s < 2; ++s) method.rows[2 * u + s].prediction[0] += worse;
  }
  const auto found = infer::compare(network, method).front();
  const double unit = 0.5;  // the range of 4 is 2 labels
  CHECK(found.mae.value == Approx(-0.2 * unit).margin(4 * 0.1 * unit / std::sqrt(universes)));
  CHECK(found.mae.standard_error == Approx(0.1 * unit / std::sqrt(universes)).epsilon(0.2));
  CHECK(found.fraction_better == Approx(0.97).margin(0.03));
  const auto reversed = infer::compare(method, network).front();
  CHECK(reversed.mae.value == Approx(-found.mae.value));
  CHECK(infer::compare(network, network).front().fraction_better == 0);
  CHECK(infer::to_json(network.parameters, {found}).at("p").at("mae_difference") == found.mae.value);
}
