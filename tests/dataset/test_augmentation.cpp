#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "dataset/voxels/augmentation.hpp"

using namespace cosmo::dataset;

namespace {

std::vector<float> identity_table() {
  std::vector<float> table(65536);
  std::iota(table.begin(), table.end(), 0.0f);
  return table;
}

std::vector<std::uint16_t> distinct_counts(int side, int channels = 1) {
  std::vector<std::uint16_t> counts(static_cast<std::size_t>(channels * side * side * side));
  std::iota(counts.begin(), counts.end(), std::uint16_t{0});
  return counts;
}

std::vector<std::uint16_t> turned(int symmetry, int side, const std::vector<std::uint16_t>& counts) {
  static const std::vector<float> table = identity_table();
  std::vector<float> voxels(counts.size());
  transform_voxels(cube_symmetry(symmetry), side, table, counts, voxels);
  return {voxels.begin(), voxels.end()};
}

}  // namespace

TEST_CASE("the 48 symmetries are distinct, form a group and keep the histogram of values") {
  const int side = 3;
  const auto counts = distinct_counts(side);
  std::map<std::vector<std::uint16_t>, int> images;
  for (int s = 0; s < kCubeSymmetries; ++s) {
    auto image = turned(s, side, counts);
    images.emplace(image, s);
    std::sort(image.begin(), image.end());
    REQUIRE(image == counts);
  }
  REQUIRE(images.size() == 48);
  REQUIRE(images.at(counts) == 0);
  for (int a = 0; a < kCubeSymmetries; ++a) {
    std::set<int> products;
    for (int b = 0; b < kCubeSymmetries; ++b) {
      const auto product = images.find(turned(b, side, turned(a, side, counts)));
      REQUIRE(product != images.end());
      products.insert(product->second);
    }
    REQUIRE(products.size() == 48);
  }
}

TEST_CASE("a symmetry keeps neighbours neighbours, whatever the size of the cube") {
  for (const int side : {1, 2, 31, 40, 130}) {
    const auto counts = distinct_counts(side);
    for (int s = 0; s < kCubeSymmetries; s += side < 100 ? 1 : 5) {
      const Symmetry symmetry = cube_symmetry(s);
      const auto image = turned(s, side, counts);
      for (int v = 0; v < side * side * side; v += 7) {
        const std::array<int, 3> out = {v / (side * side), v / side % side, v % side};
        std::array<int, 3> in{};
        for (std::size_t a = 0; a < 3; ++a) {
          in[static_cast<std::size_t>(symmetry.axes[a])] = symmetry.flipped[a] ? side - 1 - out[a] : out[a];
        }
        const auto expected = counts[static_cast<std::size_t>((in[0] * side + in[1]) * side + in[2])];
        REQUIRE(image[static_cast<std::size_t>(v)] == expected);
      }
    }
  }
}

TEST_CASE("channels are turned alike and apart") {
  const int side = 4;
  const auto both = turned(37, side, distinct_counts(side, 2));
  const auto one = turned(37, side, distinct_counts(side));
  for (std::size_t v = 0; v < one.size(); ++v) {
    REQUIRE(both[v] == one[v]);
    REQUIRE(both[v + one.size()] == one[v] + one.size());
  }
}

TEST_CASE("a roll moves every voxel by the shift, across the faces, channel by channel") {
  constexpr int kSide = 3;
  const std::vector<std::uint16_t> counts = distinct_counts(kSide, 2);
  std::vector<std::uint16_t> rolled(counts.size());
  const std::array<int, 3> shift = {1, 2, 1};
  roll<std::uint16_t>(shift, kSide, counts, rolled);
  for (int channel = 0; channel < 2; ++channel) {
    for (int z = 0; z < kSide; ++z) {
      for (int y = 0; y < kSide; ++y) {
        for (int x = 0; x < kSide; ++x) {
          const auto at = [&](int pz, int py, int px) {
            return static_cast<std::size_t>(((channel * kSide + pz % kSide) * kSide + py % kSide) * kSide +
                                            px % kSide);
          };
          REQUIRE(rolled[at(z + shift[0], y + shift[1], x + shift[2])] == counts[at(z, y, x)]);
        }
      }
    }
  }
}

TEST_CASE("the shift of a sample depends on seed, epoch and sample and takes all values") {
  std::set<std::array<int, 3>> seen;
  int changed = 0;
  for (std::uint32_t sample = 0; sample < 1000; ++sample) {
    const auto chosen = choose_shift(1, 2, sample, 4);
    REQUIRE(chosen == choose_shift(1, 2, sample, 4));
    REQUIRE(std::ranges::all_of(chosen, [](int along) { return along >= 0 && along < 4; }));
    changed += chosen != choose_shift(1, 3, sample, 4) && chosen != choose_shift(2, 2, sample, 4);
    seen.insert(chosen);
  }
  CHECK(seen.size() == 64);
  CHECK(changed > 900);
}

TEST_CASE("the symmetry of a sample depends on seed, epoch and sample and takes all values") {
  std::map<std::array<int, 6>, int> seen;
  int changed = 0;
  for (std::uint32_t sample = 0; sample < 4800; ++sample) {
    const auto key = [](const Symmetry& s) {
      return std::array<int, 6>{s.axes[0], s.axes[1], s.axes[2], s.flipped[0], s.flipped[1], s.flipped[2]};
    };
    const auto chosen = key(choose_symmetry(1, 2, sample));
    REQUIRE(chosen == key(choose_symmetry(1, 2, sample)));
    changed += chosen != key(choose_symmetry(1, 3, sample)) && chosen != key(choose_symmetry(2, 2, sample));
    ++seen[chosen];
  }
  REQUIRE(seen.size() == 48);
  for (const auto& [symmetry, count] : seen) {
    CHECK(count > 50);
    CHECK(count < 150);
  }
  REQUIRE(changed > 4400);
}

TEST_CASE("a box is turned as the cube that it is a part of") {
  const std::vector<float> table = identity_table();
  for (const int side : {5, 40}) {
    const auto counts = distinct_counts(side, 2);
    const auto n = static_cast<std::size_t>(side), first = n / 4, last = n - 1;
    for (int s = 0; s < kCubeSymmetries; ++s) {
      const Symmetry symmetry = cube_symmetry(s);
      const auto whole = turned(s, side, counts);
      const auto axis = static_cast<std::size_t>(symmetry.axes[0]);
      Box box(side);
      box[axis] = static_cast<int>(last - first);
      // The planes first to last - 1 of the turned cube, before it is turned.
      const std::size_t begin = symmetry.flipped[0] ? n - last : first, end = begin + last - first;
      std::vector<std::uint16_t> part;
      for (std::size_t v = 0; v < counts.size(); ++v) {
        const std::size_t plane = axis == 0 ? v / n / n % n : axis == 1 ? v / n % n : v % n;
        if (plane >= begin && plane < end) part.push_back(counts[v]);
      }
      std::vector<float> found(part.size(), -1);
      transform_voxels(symmetry, box, table, part, found);
      std::vector<float> expected;
      for (std::size_t v = 0; v < whole.size(); ++v) {
        if (v / n / n % n >= first && v / n / n % n < last) expected.push_back(static_cast<float>(whole[v]));
      }
      REQUIRE(found == expected);
    }
  }
}

TEST_CASE("a box is rolled along each of its axes") {
  Box box(2);
  box.cells = {2, 3, 4};
  const std::array<int, 3> shift = {1, 2, 3};
  std::vector<std::uint16_t> counts(48), rolled(48);
  std::iota(counts.begin(), counts.end(), std::uint16_t{0});
  roll<std::uint16_t>(shift, box, counts, rolled);
  for (int v = 0; v < 48; ++v) {
    const int c = v / 24, x = (v / 12 + 1) % 2, y = (v / 4 + 2) % 3, z = (v + 3) % 4;
    REQUIRE(rolled[static_cast<std::size_t>(((c * 2 + x) * 3 + y) * 4 + z)] == v);
  }
}
