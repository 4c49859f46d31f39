#include <string>
#include <vector>

#include "nn/zoo/zoo.hpp"

namespace cosmo::nn::zoo {

namespace {

/// Convolutions of 3³ cells with average pools between them. The means of all pooled channels, a vector that
/// does not depend on the positions of structures, are normalised and read by two dense layers.
NetworkSpec level_means(const std::string& name, const std::vector<int>& channels) {
  constexpr double kSlope = 0.01;
  constexpr int kHidden = 64;
  NetworkSpec spec{name, "voxels", {}};
  std::string below = spec.input;
  std::vector<std::string> means;
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const std::string level = std::to_string(i + 1);
    spec.layers.push_back({"conv" + level, {below}, Convolution{channels[i], 3, 1, 1, kSlope, true}});
    spec.layers.push_back({"pool" + level, {"conv" + level}, AveragePool{2, 2}});
    spec.layers.push_back({"mean" + level, {"pool" + level}, GlobalMean{}});
    below = "pool" + level;
    means.push_back("mean" + level);
  }
  spec.layers.push_back({"levels", means, Concat{}});
  spec.layers.push_back({"normal", {"levels"}, Normalise{}});
  spec.layers.push_back({"dense1", {"normal"}, Dense{kHidden, kSlope}});
  spec.layers.push_back({"dense2", {"dense1"}, Dense{0}});
  return spec;
}

}  // namespace

NetworkSpec cosmonet32() { return level_means("cosmonet32", {16, 16, 32, 32}); }

NetworkSpec cosmonet64() { return level_means("cosmonet64", {16, 16, 32, 32, 64}); }

NetworkSpec cosmonet128() { return level_means("cosmonet128", {16, 16, 32, 32, 64, 64}); }

NetworkSpec cosmonet256() { return level_means("cosmonet256", {16, 16, 32, 32, 64, 64, 64}); }

NetworkSpec cosmonet512() { return level_means("cosmonet512", {16, 16, 32, 32, 64, 64, 64, 64}); }

}  // namespace cosmo::nn::zoo
