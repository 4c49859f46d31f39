#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/format/json.hpp"
#include "core/hdf5/hdf5.hpp"
#include "core/universe/facts.hpp"

namespace cosmo::dataset {

/// A fact on universes that is not the same for all of a dataset, such as "steps", and no label. Its values are numbers, or
/// positions in a list of texts; what is not known is NaN, or "unknown".
struct SettingColumn {
  std::string name;
  std::vector<std::string> texts = {};  ///< ascending; empty for numbers

  /// The value that stands for this fact. Throws Error{internal} if it is none of the column's.
  double value_of(const core::Fact& fact) const;
  /// The fact that the value stands for.
  core::Fact fact_of(double value) const;
  /// Whether such a value can be in the column.
  bool holds(double value) const;
  bool operator==(const SettingColumn&) const = default;
};

/// The columns that hold these facts of universes. Numbers and texts of one name do not mix: texts.
std::vector<SettingColumn> columns_of(std::span<const core::Facts> settings);

void to_json(core::Json& json, const SettingColumn& column);
void from_json(const core::Json& json, SettingColumn& column);

/// Writes /settings (N, S) of a shard, with the names of its columns, and their texts, as attributes.
void write_settings(core::hdf5::File& file, const std::vector<SettingColumn>& columns,
                    const std::vector<double>& values);
/// Reads the values (N, S). Throws Error{format} naming `path` if the columns or values are not those of the dataset.
std::vector<double> read_settings(const core::hdf5::File& file, const std::vector<SettingColumn>& columns,
                                  std::size_t samples, const std::string& path);

}  // namespace cosmo::dataset
