#pragma once

#include <string>
#include <string_view>

namespace cosmo::core {

/// A name as it is compared: without case, blanks and underscores.
std::string simplified_name(std::string_view name);

/// The name here of the parameter that others call `word`: omega_m for "Om", "Omega_m", "Omega0"; the word itself if it is not
/// known. S8 is not sigma8 but a product with omega_m, so that its capital counts.
std::string parameter_called(std::string_view word);

}  // namespace cosmo::core
