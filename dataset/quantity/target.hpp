#pragma once
// The fields that networks learn to predict: values of --target.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/named.hpp"
#include "dataset/quantity/quantity.hpp"

namespace cosmo::dataset {

struct TargetRow {
  std::string_view name;
  VoxelKind kind;
  std::string_view meaning;
};

inline constexpr std::array kTargets = {
    TargetRow{"initial", VoxelKind::field, "the linear density of z = 0 that a universe began with"},
    TargetRow{"web", VoxelKind::classes, "the class of each voxel: void, wall, filament or node"},
};

/// The kind of a target's voxels. Throws Error{format} naming `source` for one that this version does not have.
inline VoxelKind kind_of_target(std::string_view name, const std::string& source) {
  const auto row = std::ranges::find(kTargets, name, &TargetRow::name);
  core::ensure(row != kTargets.end(), core::Fault::format, "{} has a target {}: this version reads {}.",
               source, name, core::alternatives(core::names_in(kTargets)));
  return row->kind;
}

/// Whether a number is a class.
inline bool is_class(double value) {
  return value >= 0 && value < static_cast<double>(core::kWebClasses.size()) && std::trunc(value) == value;
}

/// Throws Error{format}, which begins with `source`, for a value that is not a class.
template <class T>
void check_classes(std::span<const T> classes, const std::string& source) {
  const auto wrong =
      std::ranges::find_if_not(classes, [](T value) { return is_class(static_cast<double>(value)); });
  core::ensure(wrong == classes.end(), core::Fault::format,
               "{} has a voxel of class {}: classes are 0 to {}.", source,
               wrong == classes.end() ? T{} : *wrong, core::kWebClasses.size() - 1);
}

}  // namespace cosmo::dataset
