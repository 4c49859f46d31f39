#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cosmo::core {

/// The name that a word was probably meant to be: the one that differs from it in the fewest letters (left out, added,
/// replaced, or two exchanged), at most a third of its own and two. Only letters and digits count, and not their case:
/// "Omega_m" is omega-m. Else the only one whose words begin with the letters of the word: "lr" is learning-rate. Nothing if
/// no name is so near, or two are equally near.
std::optional<std::string> near_name(std::string_view word, const std::vector<std::string>& names);

}  // namespace cosmo::core
