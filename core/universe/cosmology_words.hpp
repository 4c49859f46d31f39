#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/format/csv_table.hpp"

namespace cosmo::core {

/// A name as it is compared: without case, blanks and underscores.
std::string simplified_name(std::string_view name);

/// The name here of the parameter that others call `word`: omega_m for "Om", "Omega_m", "Omega0"; the word itself if it is not
/// known. S8 is not sigma8 but a product with omega_m, so that its capital counts.
std::string parameter_called(std::string_view word);

/// A column that states a parameter in another form than here.
struct OtherForm {
  std::string parameter;
  std::string relation;  ///< "which is H0 over 100"
};
/// What `word` states: H0, Ωh², the density of cold matter, an amplitude. Nothing for other words.
std::optional<OtherForm> other_form(std::string_view word);

/// Throws Error{format} for the name of a column that states a parameter in another form.
void refuse_other_form(const Cell& name);

}  // namespace cosmo::core
