// White noise from files: whose universe it is, in which order and sign, and what is refused.
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <numbers>
#include <vector>

#include "core/file/byte_file.hpp"
#include "core/file/checksum.hpp"
#include "core/format/npy.hpp"
#include "sim/linear/gaussian_field.hpp"
#include "sim/linear/noise_file.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/shared_output.hpp"

using namespace cosmo;
using core::Fault;
using fourier::FourierMesh;

namespace {

sim::LinearPower some_power() { return {core::Cosmology{}, sim::eisenstein_hu(core::Cosmology{})}; }

template <class T>
void append(std::vector<std::byte>& file, const T& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  file.insert(file.end(), bytes.begin(), bytes.end());
}

/// A grafic file as MUSIC reads it, of noise(x, y, z), with markers and values of these types.
template <class Marker, class Value, class F>
std::vector<std::byte> grafic(int n, const F& noise) {
  std::vector<std::byte> file;
  append(file, Marker{16});
  for (const std::int32_t size : {n, n, n, 1}) append(file, size);
  append(file, Marker{16});
  for (int z = 0; z < n; ++z) {
    const auto length = static_cast<Marker>(sizeof(Value) * static_cast<std::size_t>(n * n));
    append(file, length);
    for (int y = 0; y < n; ++y)
      for (int x = 0; x < n; ++x) append(file, static_cast<Value>(noise(x, y, z)));
    append(file, length);
  }
  return file;
}

/// The file of numpy.save for noise[x, y, z].
template <class Value, class F>
std::vector<std::byte> npy(int n, const F& noise) {
  std::vector<std::byte> elements;
  for (int x = 0; x < n; ++x)
    for (int y = 0; y < n; ++y)
      for (int z = 0; z < n; ++z) append(elements, static_cast<Value>(noise(x, y, z)));
  return core::encode_npy(sizeof(Value) == 4 ? "<f4" : "<f8", {n, n, n}, elements);
}

}  // namespace

TEST_CASE("the white noise of a seed, written and read, is the field of the seed") {
  const auto comm = core::Communicator::world();
  const core::SharedDirectory directory(comm);
  const auto power = some_power();
  for (const int n : {16, 21}) {
    for (const char* name : {"noise", "noise.npy"}) {
      const std::string path = directory.path.string() + name;
      FourierMesh own(comm, {n, 150.0}), read(comm, {n, 150.0});
      sim::white_noise(own, 3);
      sim::write_noise(own, 3, path, path);
      const auto file = sim::open_noise(path, n);
      CHECK(file.seed() > 0);
      for (const auto amplitude : {sim::Amplitude::random, sim::Amplitude::fixed}) {
        sim::gaussian_field(own, power, 3, amplitude, sim::Partner::flipped);
        sim::gaussian_field(read, power, file, amplitude, sim::Partner::flipped);
        double worst = 0;
        own.for_each_mode([&](int kx, int ky, int kz, std::complex<float>& mode) {
          const double k = own.fundamental() * std::sqrt(kx * kx + ky * ky + kz * kz);
          if (k == 0) return;
          const double rms = std::sqrt(power(k) / std::pow(150.0, 3));
          const double error = static_cast<double>(std::abs(mode - read.mode_row(kx, ky)[kz])) / rms;
#pragma omp critical
          worst = std::max(worst, error);
        });
        INFO(name << " of " << n << ": largest error / rms " << comm.max(worst));
        // A fixed amplitude enlarges the rounding of modes that were small by chance.
        CHECK(comm.max(worst) < (amplitude == sim::Amplitude::fixed ? 1e-4 : 2e-6));
      }
    }
  }
}

TEST_CASE("noise of files has x, y and z, the sign, and the point (i, j, k) L/N") {
  const auto comm = core::Communicator::world();
  const core::SharedDirectory directory(comm);
  const auto power = some_power();
  constexpr int n = 12;
  const std::string path = directory.path.string();
  // A wave of variance 1 whose crest is at the point (2, 1, 0).
  const auto wave = [](int x, int y, int z) {
    return std::numbers::sqrt2 * std::cos(2 * std::numbers::pi / n * (1 * (x - 2) + 2 * (y - 1) - 3 * z));
  };
  const auto files = {npy<float>(n, wave), npy<double>(n, wave), grafic<std::int32_t, float>(n, wave),
                      grafic<std::int32_t, double>(n, wave), grafic<std::int64_t, float>(n, wave)};
  for (const auto& bytes : files) {
    if (comm.is_root()) core::write_bytes(path, bytes);
    comm.barrier();
    const sim::NoiseFile file = sim::open_noise(path, n);
    CHECK(file.sha256 == core::sha256_of_file(path));
    FourierMesh field(comm, {n, 150.0});
    sim::gaussian_field(field, power, file);
    field.backward();
    // The crest of one cosine has the height sqrt(2) sqrt(P N³/V).
    const double k = field.fundamental() * std::sqrt(1.0 + 4 + 9);
    const double height = std::sqrt(power(k) * std::pow(n / 150.0, 3));
    double worst = 0;
    field.for_each_row([&](int x, int y, const float* row) {
      for (int z = 0; z < n; ++z) {
        const double error = std::abs(static_cast<double>(row[z]) - height * wave(x, y, z));
#pragma omp critical
        worst = std::max(worst, error);
      }
    });
    CHECK(comm.max(worst) < 1e-5 * height);
    comm.barrier();
  }
}

TEST_CASE("files that are not the white noise asked for are refused") {
  const auto comm = core::Communicator::world();
  if (comm.size() > 1) return;
  const TemporaryDirectory directory;
  const std::filesystem::path path = directory.path() / "noise";
  constexpr int n = 8;
  double scale = 1, shift = 0;
  const auto noise = [&](int x, int y, int z) {
    return shift + scale * std::numbers::sqrt2 * std::cos(2 * std::numbers::pi / n * (x + 2 * y + 3 * z));
  };
  const auto refuse = [&](Fault fault, const std::string& part, const std::vector<std::byte>& bytes,
                          int side = 8) {
    core::write_bytes(path, bytes);
    expect_error(fault, part, [&] { (void)sim::open_noise(path, side); });
    expect_error(fault, path.string(), [&] { (void)sim::open_noise(path, side); });
  };
  const auto good = grafic<std::int32_t, float>(n, noise);
  core::write_bytes(path, good);
  CHECK(sim::open_noise(path, n).value_bytes == 4);
  refuse(Fault::config, "8 x 8 x 8", good, 16);
  refuse(Fault::config, "8 x 8 x 8", npy<float>(n, noise), 16);
  refuse(Fault::format, "neither grafic nor .npy", {});
  refuse(Fault::format, "neither grafic nor .npy", {std::byte{1}, std::byte{2}});
  for (const std::size_t length : {std::size_t{24}, std::size_t{30}, std::size_t{1000}, good.size() - 1}) {
    const auto end = good.begin() + static_cast<std::ptrdiff_t>(length);
    refuse(Fault::format, "cut short", {good.begin(), end});
  }
  auto altered = good;
  altered.push_back(std::byte{});
  refuse(Fault::format, "too long", altered);
  altered = good;
  altered[good.size() - 2] = std::byte{1};
  refuse(Fault::format, "damaged record at plane 7", altered);
  for (const std::size_t marker : {std::size_t{4}, std::size_t{8}}) {
    auto turned = marker == 4 ? good : grafic<std::int64_t, float>(n, noise);
    std::reverse(turned.begin(), turned.begin() + static_cast<std::ptrdiff_t>(marker));
    refuse(Fault::format, "big-endian", turned);
  }
  altered = good;
  std::fill_n(altered.end() - 8, 4, std::byte{0xff});
  refuse(Fault::format, "not a finite number, in plane 7", altered);
  refuse(Fault::format, "'>f4'", core::encode_npy(">f4", {n, n, n}, std::vector<std::byte>(4 * n * n * n)));
  refuse(Fault::format, "cut short", core::encode_npy("<f4", {n, n, n}, std::vector<std::byte>(4 * n * n)));
  // Limits: 5/sqrt(512) = 0.221 for the mean, 5/sqrt(1024) = 0.156 for the rms.
  for (const double most : {0.84, 1.16}) {
    scale = most;
    refuse(Fault::format, "rms", npy<double>(n, noise));
  }
  scale = 0.9;
  shift = 0.23;
  refuse(Fault::format, "mean 0.23", npy<double>(n, noise));
  scale = 1.15;
  shift = 0;
  core::write_bytes(path, npy<double>(n, noise));
  CHECK(sim::open_noise(path, n).side == n);
}
