#include "nn/model/model_file.hpp"

#include <algorithm>
#include <vector>

#include "core/error.hpp"
#include "core/finite.hpp"

namespace cosmo::nn {

namespace {

/// "weights/conv1/biases" for the parameter "conv1.biases".
std::string dataset_name(const std::string& group, const Parameter& parameter) {
  std::string path = parameter.name;
  std::replace(path.begin(), path.end(), '.', '/');
  return group + "/" + path;
}

core::hdf5::Shape shape_of(const Parameter& parameter) {
  return {parameter.dims.begin(), parameter.dims.end()};
}

}  // namespace

void write_arena(core::hdf5::File& file, const std::string& group, const Network& network,
                 std::span<const float> arena) {
  for (const Parameter& parameter : network.parameters()) {
    std::vector<float> plain(parameter.elements());
    network.copy_to_plain(parameter, arena.subspan(parameter.offset, parameter.values.size()), plain);
    file.write(dataset_name(group, parameter), shape_of(parameter), std::span<const float>(plain));
  }
}

void read_arena(const core::hdf5::File& file, const std::string& group, const Network& network,
                std::span<float> arena) {
  for (const Parameter& parameter : network.parameters()) {
    const auto plain = file.read<float>(dataset_name(group, parameter), shape_of(parameter));
    network.copy_from_plain(parameter, plain, arena.subspan(parameter.offset, parameter.values.size()));
  }
}

void read_weights(const std::filesystem::path& directory, const ModelManifest& model, Network& network) {
  const std::string& checkpoint = model.best().path;
  core::read_checked(directory, *model.base.find(checkpoint), [&](const std::filesystem::path& path) {
    read_arena(core::hdf5::File::open(path), model.weights, network, network.weights());
  });
  core::ensure(core::all_finite(network.weights()), core::Fault::numeric,
               "{} holds weights that are not finite: restore the file, or train again.",
               (directory / checkpoint).string());
}

}  // namespace cosmo::nn
