#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "dataset/load/augmentation.hpp"

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

TEST_CASE("a slab is the planes of the turned sample, and of its copies or of nothing beside it") {
  const std::vector<float> table = identity_table();
  for (const auto& [side, channels] : {std::pair(5, 2), std::pair(20, 1)}) {
    const auto counts = distinct_counts(side, channels);
    const auto plane = static_cast<std::size_t>(side * side);
    for (const Slab& slab : {Slab{0, 3}, Slab{2, 5}, Slab{-2, 4}, Slab{-1, side + 2, true},
                             Slab{3, side + 1, true}, Slab{-1, side + 1}, Slab{-side - 2, 2 * side, true}}) {
      for (int s = 0; s < kCubeSymmetries; ++s) {
        const auto whole = turned(s, side, counts);
        std::vector<float> expected,
            found(static_cast<std::size_t>((slab.end - slab.begin) * channels) * plane, -1);
        for (int channel = 0; channel < channels; ++channel) {
          for (int x = slab.begin; x < slab.end; ++x) {
            const int shown = (x + 3 * side) % side;
            const auto first = whole.begin() + static_cast<std::ptrdiff_t>(plane) * (channel * side + shown);
            if (x == shown || slab.periodic)
              expected.insert(expected.end(), first, first + static_cast<std::ptrdiff_t>(plane));
            else
              expected.insert(expected.end(), plane, 0.0f);
          }
        }
        transform_voxels(cube_symmetry(s), side, table, counts, found, slab);
        REQUIRE(found == expected);
      }
    }
  }
}
