#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/buffer.hpp"
#include "core/error.hpp"
#include "dataset/quantity/curve.hpp"
#include "dataset/quantity/voxel_transform.hpp"
#include "dataset/shard/target_scaler.hpp"
#include "dataset/voxels/input_maker.hpp"
#include "dataset/voxels/look_up.hpp"

using namespace cosmo::dataset;

TEST_CASE("log1p is the same affine map of log(1 + n) for every sample") {
  const VoxelTransform transform = find_voxel_transform("log1p", {VoxelKind::counts, 8});
  REQUIRE(transform.map(0).offset == std::log1p(8.0));
  VoxelTable table(transform);
  const std::vector<std::uint16_t> sparse = {0, 1, 2}, dense = {500, 600, 700};
  REQUIRE(table.for_sample(sparse)[8] == Approx(0).margin(1e-7));
  const float at_zero = table.for_sample(sparse)[0];
  REQUIRE(at_zero == Approx(-std::log1p(8.0)));
  REQUIRE(table.for_sample(dense)[0] == at_zero);
  REQUIRE(table.for_sample(dense)[65535] == Approx(std::log(65536 / 9.0)));
}

TEST_CASE("counts are looked up alike together and one by one, at any place") {
  VoxelTable table(find_voxel_transform("log1p", {VoxelKind::counts, 1}));
  const auto entries = table.for_sample({});
  for (const unsigned largest : {31u, 40u, 65535u}) {
    std::vector<std::uint16_t> counts;
    for (unsigned i = 0; i < 1000; ++i)
      counts.push_back(static_cast<std::uint16_t>(i * i * 977 % (largest + 1)));
    counts.back() = static_cast<std::uint16_t>(largest);
    for (const std::size_t first : {0u, 1u, 16u}) {  // on a boundary of 64 bytes, or not
      for (const std::size_t size : {std::size_t{0}, std::size_t{15}, std::size_t{64}, counts.size()}) {
        cosmo::core::Buffer<float> voxels(counts.size() + 32);
        std::fill_n(voxels.data(), voxels.size(), -7.0f);
        look_up(entries, std::span(counts).last(size), voxels.span().subspan(first, size));
        end_look_up();
        for (std::size_t i = 0; i < voxels.size(); ++i) {
          const bool inside = i >= first && i < first + size;
          REQUIRE(voxels[i] == (inside ? entries[counts[counts.size() - size + i - first]] : -7.0f));
        }
      }
    }
  }
}

TEST_CASE("mean divides by the sub-volume's own mean") {
  VoxelTable table(find_voxel_transform("mean", {VoxelKind::counts, 8}));
  const std::vector<std::uint16_t> sample = {0, 2, 10, 4};
  const auto values = table.for_sample(sample);
  double sum = 0;
  for (const std::uint16_t count : sample) sum += values[count];
  REQUIRE(sum / 4 == Approx(1));
  REQUIRE(values[10] == Approx(2.5));
  const std::vector<std::uint16_t> other = {1, 1};
  REQUIRE(table.for_sample(other)[1] == 1);
  const std::vector<std::uint16_t> empty = {0, 0};
  REQUIRE(table.for_sample(empty)[0] == 0);
}

TEST_CASE("an input is the same made whole, by parts and turned") {
  std::vector<std::uint16_t> counts(2 * 3 * 3 * 3);
  std::vector<float> field(counts.size());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    counts[i] = static_cast<std::uint16_t>(i * i % 41);
    field[i] = 0.25f * static_cast<float>(i) - 3;
  }
  const auto check = [&](const char* name, const VoxelScale& scale, const auto& sample,
                         const auto& expected) {
    using Voxels = std::span<const typename std::decay_t<decltype(sample)>::value_type>;
    const Voxels voxels(sample);
    InputMaker inputs(find_voxel_transform(name, scale), 27);
    CHECK(inputs.same_for_all() == (std::string_view(name) != "mean"));
    std::vector<float> whole(voxels.size()), parts(voxels.size()), turned(voxels.size());
    inputs.make(voxels, std::span<float>(whole));
    for (std::size_t i = 0; i < whole.size(); ++i) CHECK(whole[i] == static_cast<float>(expected(sample[i])));
    if (!inputs.same_for_all()) inputs.begin(voxels);
    for (std::size_t first = 0; first < voxels.size(); first += 18)
      inputs.make_part(voxels.subspan(first, 18), std::span(parts).subspan(first, 18), first);
    CHECK(parts == whole);
    const Symmetry backwards = {{0, 1, 2}, {true, true, true}};
    inputs.make_part(backwards, 3, voxels, std::span<float>(turned));
    std::reverse(turned.begin(), turned.begin() + 27);
    std::reverse(turned.begin() + 27, turned.end());
    CHECK(turned == whole);
  };
  check("log1p", {VoxelKind::counts, 8}, counts, [](double n) { return std::log1p(n) - std::log1p(8.0); });
  double mean = 0;
  for (const std::uint16_t count : counts) mean += count;
  mean /= static_cast<double>(counts.size());
  check("mean", {VoxelKind::counts, 8}, counts, [&](double n) { return n / mean; });
  check("standard", {VoxelKind::field, 2, 0.5}, field, [](float x) { return 2 * (x - 2); });
}

TEST_CASE("logarithms are those of the standard library to two units in the last place") {
  const auto near = [](float found, double expected) {
    CHECK(std::abs(found - expected) <= 2.5e-7 * std::max(std::abs(expected), 1e-30));
  };
  for (float x = 1.2e-38f; x < 3e38f; x *= 1.37f) {
    near(fast_log(x), std::log(double{x}));
    near(fast_log1p(x), std::log1p(double{x}));
    if (x < 1) near(fast_log1p(-x), std::log1p(-double{x}));
  }
  CHECK(fast_log(1) == 0);
  CHECK(fast_log1p(0) == 0);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float x : {0.0f, -1.0f, -kInfinity, kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
    CHECK(std::isnan(fast_log(x)));
    CHECK(std::isnan(fast_log1p(x - 1)));
  }
}

TEST_CASE("channels of a field have a map each, whole, by parts and turned") {
  constexpr std::size_t kChannel = 27, kChannels = 3;
  std::vector<float> field(kChannels * kChannel);
  for (std::size_t i = 0; i < field.size(); ++i) field[i] = 0.5f + static_cast<float>(i * i % 41);
  const VoxelScale scale{VoxelKind::field, 0, 0, Curve::log, {{1, 0.5}, {2, 4}, {3, 0}}};
  const VoxelTransform transform = find_voxel_transform("log", scale);
  REQUIRE(transform.maps.size() == kChannels);
  CHECK(transform.map(2).scale == 1);  // a channel of one value
  InputMaker inputs(transform, kChannel);
  const std::span<const float> voxels(field);
  std::vector<float> whole(field.size()), parts(field.size()), turned(field.size()), channel(kChannel);
  inputs.make(voxels, std::span<float>(whole));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const VoxelMap& map = transform.map(i / kChannel);
    CHECK(whole[i] == Approx(map.scale * (std::log(field[i]) - map.offset)).margin(1e-6));
  }
  for (std::size_t first = 0; first < field.size(); first += 20) {  // across the ends of channels
    const std::size_t size = std::min<std::size_t>(20, field.size() - first);
    inputs.make_part(voxels.subspan(first, size), std::span(parts).subspan(first, size), first);
  }
  CHECK(parts == whole);
  const Symmetry backwards = {{0, 1, 2}, {true, true, true}};
  inputs.make_part(backwards, 3, voxels, std::span<float>(turned));
  for (std::size_t c = 0; c < kChannels; ++c) {
    const auto begin = turned.begin() + static_cast<std::ptrdiff_t>(c * kChannel);
    std::reverse(begin, begin + kChannel);
    inputs.make_part(Symmetry{}, 3, voxels.subspan(c * kChannel, kChannel), std::span<float>(channel), c);
    CHECK(std::equal(channel.begin(), channel.end(),
                     whole.begin() + static_cast<std::ptrdiff_t>(c * kChannel)));
  }
  CHECK(turned == whole);
}

TEST_CASE("a low-pass multiplies each wave by its Gaussian, along every axis") {
  constexpr int kSide = 16;
  constexpr double kDeviation = 1.3;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    for (const int wave : {0, 1, 3, 5}) {
      std::vector<float> field, smoothed(kSide * kSide * kSide);
      for (int i = 0; i < kSide * kSide * kSide; ++i) {
        const int along = std::array{i / (kSide * kSide), i / kSide % kSide, i % kSide}[axis];
        field.push_back(static_cast<float>(2 + std::cos(2 * std::numbers::pi * wave * along / kSide + 0.4)));
      }
      LowPass(kDeviation, kSide).apply(std::span<const float>(field), std::span(smoothed));
      const double k = 2 * std::numbers::pi * wave / kSide,
                   gain = std::exp(-k * k * kDeviation * kDeviation / 2);
      for (std::size_t i = 0; i < field.size(); ++i)
        CHECK(smoothed[i] - 2 == Approx(gain * (field[i] - 2)).margin(2e-6));
    }
  }
}

TEST_CASE("a low-pass keeps the sum, and reaches around the box") {
  constexpr int kSide = 6;
  std::vector<std::uint16_t> counts(2 * kSide * kSide * kSide);
  counts[0] = 1000;
  std::vector<float> smoothed(counts.size());
  LowPass(2.5, kSide).apply(std::span<const std::uint16_t>(counts), std::span(smoothed));
  const auto channel = smoothed.begin() + kSide * kSide * kSide;
  CHECK(std::accumulate(smoothed.begin(), channel, 0.0) == Approx(1000));
  CHECK(std::all_of(channel, smoothed.end(), [](float value) { return value == 0; }));
  CHECK(smoothed[1] == Approx(smoothed[kSide - 1]));
  CHECK(smoothed[1] == Approx(smoothed[(kSide - 1) * kSide * kSide]));
  const std::vector<double> narrow = low_pass_weights(0.01, kSide);
  CHECK(narrow == std::vector<double>{1, 0, 0, 0, 0, 0});
}

TEST_CASE("smoothed inputs are the map of smoothed voxels, whole, by parts and turned") {
  constexpr int kSide = 4;
  constexpr std::size_t kChannel = kSide * kSide * kSide;
  std::vector<std::uint16_t> counts(2 * kChannel);
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = static_cast<std::uint16_t>(i * i % 41);
  std::vector<float> smoothed(counts.size()), whole(counts.size()), parts(counts.size()),
      turned(counts.size());
  LowPass(0.7, kSide).apply(std::span<const std::uint16_t>(counts), std::span(smoothed));
  const double mean = std::accumulate(counts.begin(), counts.end(), 0.0) / static_cast<double>(counts.size());
  for (const std::string name : {"log1p", "mean"}) {
    VoxelTransform transform = find_voxel_transform(name, {VoxelKind::counts, 8});
    transform.smoothing = 0.7;
    InputMaker inputs(transform, kChannel);
    CHECK_FALSE(inputs.same_for_all());
    inputs.make(std::span<const std::uint16_t>(counts), std::span<float>(whole));
    for (std::size_t i = 0; i < whole.size(); ++i)
      CHECK(whole[i] ==
            Approx(name == "mean" ? smoothed[i] / mean : std::log1p(smoothed[i]) - std::log1p(8.0))
                .margin(2e-6));
    for (std::size_t first = 0; first < whole.size(); first += 32)
      inputs.make_part(std::span<const std::uint16_t>(counts).subspan(first, 32),
                       std::span(parts).subspan(first, 32), first);
    CHECK(parts == whole);
    const Symmetry backwards = {{0, 1, 2}, {true, true, true}};
    inputs.make_part(backwards, kSide, std::span<const std::uint16_t>(counts), std::span<float>(turned));
    std::reverse(turned.begin(), turned.begin() + kChannel);
    std::reverse(turned.begin() + kChannel, turned.end());
    CHECK(turned == whole);
  }
}

TEST_CASE("an unknown transform is refused with the known ones, also when a model file names it") {
  CHECK_THROWS_WITH(find_voxel_transform("sqrt", {VoxelKind::counts, 8}),
                    Catch::Contains("log1p, mean, standard or log"));
  CHECK_THROWS_WITH(VoxelTable(VoxelTransform{"sqrt"}), Catch::Contains("log1p, mean, standard or log"));
}

TEST_CASE("targets map their range to [-1, 1] and back") {
  const TargetScaler scaler({{"omega_m", "sigma8"}, {0.25, 0.78}, {0.35, 0.95}});
  std::vector<float> unit(2);
  std::vector<double> physical(2);
  scaler.to_unit(std::vector{0.25, 0.95}, unit);
  REQUIRE(unit == std::vector<float>{-1, 1});
  scaler.to_unit(std::vector{0.30, 0.8225}, unit);
  REQUIRE(unit[0] == Approx(0).margin(1e-6));
  REQUIRE(unit[1] == Approx(-0.5));
  scaler.to_physical(unit, physical);
  REQUIRE(physical[0] == Approx(0.30));
  REQUIRE(physical[1] == Approx(0.8225));
}
