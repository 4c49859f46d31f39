#pragma once

#include <string>
#include <vector>

namespace cosmo::core {

/// The directories in the value of an option: the value itself if that is one, whose name may have a comma, or else its parts
/// between commas. Throws Error{usage} naming the option if one is empty.
std::vector<std::string> directory_list(const std::string& value, const std::string& option);

}  // namespace cosmo::core
