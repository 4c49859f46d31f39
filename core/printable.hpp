#pragma once
// The only way for text to reach a terminal, since some of it comes from files.

#include <cstddef>
#include <string>
#include <string_view>

namespace cosmo::core {

/// Whether `text` is UTF-8.
bool is_utf8(std::string_view text);

/// `text` with control characters and bytes that are not UTF-8 written as "\x1b"; newlines and tabs stay. If
/// `text` is longer than `most` bytes, a note replaces the middle.
std::string printable(std::string_view text, std::size_t most = std::string_view::npos);

}  // namespace cosmo::core
