// A conditional density in a group of an HDF5 file.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/hdf5/hdf5.hpp"
#include "nn/density/conditional_density.hpp"
#include "nn/density/cut_mixture.hpp"
#include "nn/density/read_values.hpp"

namespace cosmo::nn {

namespace {

using core::hdf5::File;

constexpr const char* kDensitySchema = "cosmo.density/1";
constexpr std::uint64_t kMostHidden = 4096, kMostMembers = 1024;

Coordinates read_coordinates(const File& file, const std::string& path, const std::string& group,
                             std::size_t features, std::size_t parameters) {
  const std::size_t size = features + parameters;
  std::vector<double> mean = read_finite(file, path, group + "/mean", {size});
  std::vector<double> factor = read_finite(file, path, group + "/factor", {size, size});
  for (std::size_t i = 0; i < size; ++i) {
    const double deviation = factor[i * size + i];  // a prediction's is 0 if it is not used
    ensure_possible(i < features ? deviation >= 0 : deviation > 0, path, group + "/factor");
  }
  return {features, parameters, std::move(mean), std::move(factor)};
}

}  // namespace

void ConditionalDensity::write(File& file, const std::string& group) const {
  const std::size_t size = coordinates_.size();
  file.write(group + "/mean", {size}, coordinates_.mean());
  file.write(group + "/factor", {size, size}, coordinates_.factor());
  std::vector<std::uint64_t> of_factors;
  for (std::size_t i = 0; i < parameters(); ++i) {
    std::vector<double> weights;
    for (const Member& member : members_)
      weights.insert(weights.end(), member[i].weights().begin(), member[i].weights().end());
    file.write(fmt::format("{}/weights_{}", group, i + 1), {members(), weights.size() / members()},
               std::span<const double>(weights));
    of_factors.push_back(static_cast<std::uint64_t>(components(i)));
  }
  file.set_attribute(group + "/schema", std::string(kDensitySchema));
  file.set_attribute(group + "/components", of_factors);
  file.set_attribute(group + "/hidden", static_cast<std::uint64_t>(members_.front().front().shape().hidden));
  file.set_attribute(group + "/members", static_cast<std::uint64_t>(members()));
  file.set_attribute(group + "/widening", widening_);
}

ConditionalDensity ConditionalDensity::read(const File& file, const std::string& path,
                                            const std::string& group, std::size_t features,
                                            std::size_t parameters) {
  core::ensure(file.text_attribute(group + "/schema") == kDensitySchema, core::Fault::format,
               "{} does not hold a posterior of this version: restore it, or fit the posterior again.", path);
  const std::vector<std::uint64_t> components = file.integers_attribute(group + "/components");
  const std::uint64_t hidden = file.integer_attribute(group + "/hidden");
  const std::uint64_t count = file.integer_attribute(group + "/members");
  std::vector<double> widening = file.numbers_attribute(group + "/widening");
  ensure_possible(
      components.size() == parameters && parameters > 0 &&
          std::ranges::all_of(components, [](auto size) { return size >= 1 && size <= kMostInFactor; }),
      path, group + "/components");
  ensure_possible(hidden >= 1 && hidden <= kMostHidden, path, group + "/hidden");
  ensure_possible(count >= 1 && count <= kMostMembers, path, group + "/members");
  ensure_possible(widening.size() == parameters &&
                      std::ranges::all_of(widening, [](double value) { return value > 0.1 && value < 10; }),
                  path, group + "/widening");
  Coordinates coordinates = read_coordinates(file, path, group, features, parameters);
  std::vector<Member> members(count);
  for (std::size_t i = 0; i < parameters; ++i) {
    const FactorShape shape{static_cast<int>(features + i), static_cast<int>(hidden),
                            kOutputsPerComponent * static_cast<int>(components[i])};
    const std::string name = fmt::format("{}/weights_{}", group, i + 1);
    const std::vector<double> all = read_finite(file, path, name, {count, shape.weights()});
    for (std::size_t m = 0; m < count; ++m) {
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(m * shape.weights());
      members[m].emplace_back(shape,
                              std::vector(first, first + static_cast<std::ptrdiff_t>(shape.weights())));
    }
  }
  return {std::move(coordinates), std::move(members), std::move(widening)};
}

}  // namespace cosmo::nn
