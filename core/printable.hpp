#pragma once
// The only way for text to reach a terminal, since some of it comes from files.

#include <cstddef>
#include <string>
#include <string_view>

namespace cosmo::core {

/// Whether `text` is UTF-8.
bool is_utf8(std::string_view text);

/// `text` with control characters and bytes that are not UTF-8 written as "\x1b" or "\u202e"; newlines and tabs
/// stay. If `text` is longer than `most` bytes, a note replaces the middle.
std::string printable(std::string_view text, std::size_t most = std::string_view::npos);

/// The same with newlines and tabs written as "\n" and "\x09", for a sentence that quotes names and values.
std::string one_line(std::string_view text);

}  // namespace cosmo::core
