#pragma once
// Values of posterior.h5, checked.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/hdf5/hdf5.hpp"

namespace cosmo::nn {

/// Throws Error{format} unless a condition on what was read holds.
inline void ensure_possible(bool condition, const std::string& path, const std::string& name) {
  core::ensure(condition, core::Fault::format,
               "{} has a value in {} that cannot be: restore it, or fit the posterior again.", path, name);
}

/// Reads numbers, each finite.
inline std::vector<double> read_finite(const core::hdf5::File& file, const std::string& path,
                                       const std::string& name, const core::hdf5::Shape& shape) {
  std::vector<double> values = file.read<double>(name, shape);
  ensure_possible(std::ranges::all_of(values, [](double value) { return std::isfinite(value); }), path, name);
  return values;
}

}  // namespace cosmo::nn
