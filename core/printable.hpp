#pragma once
// The one door for text to a terminal, some of which comes from files.

#include <cstddef>
#include <string>
#include <string_view>

namespace cosmo::core {

/// Whether `text` is UTF-8.
bool is_utf8(std::string_view text);

/// `text` with what a terminal would obey, and what is no UTF-8, as "\x1b"; lines and tabs stay. Of more
/// than `most` bytes the middle is left out, and that is said.
std::string printable(std::string_view text, std::size_t most = std::string_view::npos);

}  // namespace cosmo::core
