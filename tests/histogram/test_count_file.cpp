#include <catch2/catch.hpp>

#include "core/error.hpp"
#include "histogram/count_file.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace cosmo;

namespace {

/// The header of a count file with these parameters.
histogram::CountFileHeader header_of(const std::vector<std::string>& names, const std::vector<double>& values,
                                     double redshift = 0) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "counts_z0.h5";
  {
    core::hdf5::File file = core::hdf5::File::create(path);
    file.set_attribute("schema", "cosmo.counts/1");
    file.set_attribute("box", 4.0);
    file.set_attribute("voxel", 2.0);
    file.set_attribute("redshift", redshift);
    file.set_attribute("seed", std::uint64_t{5});
    file.set_attribute("parameter_names", names);
    file.set_attribute("parameter_values", values);
    file.set_attribute("particles", std::uint64_t{8});
    file.set_attribute("code_version", "0.1.0");
    const std::vector<std::uint16_t> counts(8, 1);
    file.write<std::uint16_t>("counts", {2, 2, 2}, counts);
  }
  return histogram::CountFile(path).header();
}

}  // namespace

TEST_CASE("a count file older than a parameter has that parameter's default") {
  const auto header = header_of({"omega_m", "sigma8", "n_s", "h", "omega_b"}, {0.25, 0.9, 0.95, 0.7, 0.05});
  CHECK(header.universe.cosmology.omega_b == 0.05);
  CHECK(header.universe.cosmology.w0 == -1);
  CHECK(header.universe.cosmology.wa == 0);
  CHECK(header_of({"w0", "omega_m"}, {-0.8, 0.25}).universe.cosmology.w0 == -0.8);
}

TEST_CASE("a count file with unknown or unmatched parameters is refused") {
  expect_error(core::Fault::format, "omega_q", [] { (void)header_of({"omega_q"}, {0.3}); });
  expect_error(core::Fault::format, "2 values", [] { (void)header_of({"omega_m"}, {0.3, 0.4}); });
}

TEST_CASE("a count file of no universe is refused") {
  const auto refused = [](const std::string& part, const std::vector<double>& values, double redshift) {
    expect_error(core::Fault::format, part, [&] {
      (void)header_of({"omega_m", "omega_b"}, values, redshift);
    });
  };
  CHECK(header_of({"omega_m", "omega_b"}, {0.3, 0.05}, 9).redshift == 9);
  refused("counts_z0.h5 has the redshift -3", {0.3, 0.05}, -3);
  refused("counts_z0.h5 describes", {1.2, 0.05}, 0);
  refused("omega_b is 0.1 and omega_m 0.09", {0.09, 0.1}, 0);
}
