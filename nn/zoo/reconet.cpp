#include <string>
#include <vector>

#include "nn/zoo/zoo.hpp"

namespace cosmo::nn::zoo {

namespace {

constexpr double kSlope = 0.01;

/// Two periodic convolutions of 3³ cells; the second is called `name`.
void append_pair(NetworkSpec& spec, const std::string& name, const std::string& source, int channels) {
  spec.layers.push_back({name + "_a", {source}, Convolution{channels, 3, 1, 1, kSlope, true}});
  spec.layers.push_back({name, {name + "_a"}, Convolution{channels, 3, 1, 1, kSlope, true}});
}

/// Each level reads the average over 2³ cells of the one above; on the way up each reads its own channels beside those of the
/// level below.
NetworkSpec u_net(const std::string& network, const std::string& output) {
  const std::vector<int> channels = {16, 32, 32, 32};
  NetworkSpec spec{network, "voxels", {}};
  std::string source = spec.input;
  for (std::size_t level = 0; level < channels.size(); ++level) {
    const std::string name = "down" + std::to_string(level + 1);
    append_pair(spec, name, source, channels[level]);
    if (level + 1 == channels.size()) {
      source = name;
      break;
    }
    source = "pool" + std::to_string(level + 1);
    spec.layers.push_back({source, {name}, AveragePool{2, 2}});
  }
  for (std::size_t level = channels.size() - 1; level-- > 0;) {
    const std::string number = std::to_string(level + 1);
    spec.layers.push_back({"larger" + number, {source}, Resample{2, Interpolation::periodic}});
    spec.layers.push_back({"both" + number, {"down" + number, "larger" + number}, Concat{}});
    append_pair(spec, "up" + number, "both" + number, channels[level]);
    source = "up" + number;
  }
  spec.layers.push_back({output, {source}, Convolution{0, 1}});
  return spec;
}

}  // namespace

NetworkSpec reconet() { return u_net("reconet", "field"); }

NetworkSpec webnet() { return u_net("webnet", "classes"); }

}  // namespace cosmo::nn::zoo
