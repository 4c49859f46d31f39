#include "core/printable.hpp"

#include <fmt/format.h>

namespace cosmo::core {

namespace {

/// Number of bytes of the UTF-8 character that `text` begins with (RFC 3629), or 0.
std::size_t character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first < 0xF0) {
    const bool shortest = first != 0xE0 || second >= 0xA0, no_surrogate = first != 0xED || second < 0xA0;
    return follows(1) && follows(2) && shortest && no_surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first < 0xF5) {
    const bool shortest = first != 0xF0 || second >= 0x90, in_range = first != 0xF4 || second < 0x90;
    return follows(1) && follows(2) && follows(3) && shortest && in_range ? 4 : 0;
  }
  return 0;
}

/// Whether the character is one that a terminal interprets.
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return (first < ' ' && first != '\n' && first != '\t') || first == 0x7F;
  return first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

}  // namespace

bool is_utf8(std::string_view text) {
  for (std::size_t size = 1; !text.empty(); text.remove_prefix(size)) {
    size = character(text);
    if (size == 0) return false;
  }
  return true;
}

std::string printable(std::string_view text, std::size_t most) {
  if (text.size() > most) {
    const std::size_t half = most / 2, left_out = text.size() - 2 * half;
    return printable(text.substr(0, half)) + fmt::format(" [{} bytes] ", left_out) +
           printable(text.substr(text.size() - half));
  }
  std::string result;
  while (!text.empty()) {
    const std::size_t size = character(text);
    if (size > 0 && !is_control(text.substr(0, size))) {
      result += text.substr(0, size);
    } else {
      for (const char byte : text.substr(0, size > 0 ? size : 1))
        result += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    }
    text.remove_prefix(size > 0 ? size : 1);
  }
  return result;
}

}  // namespace cosmo::core
