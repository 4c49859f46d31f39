#pragma once
// Settings as a flat list of names and values, and what differs between several.

#include <span>
#include <string>
#include <vector>

#include "core/format/json.hpp"
#include "infer/compare/compared_run.hpp"

namespace cosmo::infer {

/// Adds the leaves of `value` to the object `flat`, as "PREFIX.key.key"; elements of a list of named objects by their names,
/// other lists whole.
void flatten(const std::string& prefix, const core::Json& value, core::Json& flat);

/// A setting and its value in each run; null where it has none.
struct DifferingSetting {
  std::string name;
  std::vector<core::Json> values;
};

/// The settings in which the runs differ, by name. The layers of networks of different names are left out.
std::vector<DifferingSetting> differing_settings(std::span<const ComparedRun> runs);

/// "0.003", "on", "cosmonet32"; "-" for null.
std::string setting_text(const core::Json& value);

}  // namespace cosmo::infer
