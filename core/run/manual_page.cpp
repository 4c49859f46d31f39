#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/run/help_text.hpp"
#include "core/run/usage.hpp"
#include "core/version.hpp"

namespace cosmo::core {

namespace {

/// Code point and length of the UTF-8 character at the beginning of `text`.
std::pair<std::uint32_t, std::size_t> first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t length = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  std::uint32_t code = length == 1 ? lead : lead & (0x7Fu >> length);
  for (const char byte : text.substr(1, length - 1))
    code = code << 6 | (static_cast<unsigned char>(byte) & 0x3Fu);
  return {code, std::min(length, text.size())};
}

/// `text` as roff prints it unchanged, hyphens as they are typed; characters beyond ASCII by their numbers.
std::string roff(std::string_view text) {
  const bool command =
      text.starts_with('.') || text.starts_with('\'');  // as it would be at the start of a line
  std::string result = command ? "\\&" : "";
  while (!text.empty()) {
    const auto [code, length] = first_character(text);
    if (code > 0x7F) {
      result += fmt::format("\\[u{:04X}]", code);
    } else if (code == '\\') {
      result += "\\e";
    } else if (code == '-') {
      result += "\\-";
    } else {
      result += text.front();
    }
    text.remove_prefix(length);
  }
  return result;
}

/// The values without a name, as " DIR".
std::string positional_of(const Command& command) {
  std::string text;
  const Options options = declare_options(command);
  for (const Options::Declaration& option : options.declarations()) {
    if (option.is_positional) text += fmt::format(" {}", roff(option.value));
  }
  return text;
}

std::string options_of(const Tool& tool, const Command& command) {
  std::string text = tool.commands.size() == 1
                         ? ".SH OPTIONS\n"
                         : fmt::format(".SH {}\n", roff(upper(full_name(tool, command))));
  text += fmt::format("{}.\n", roff(command.summary));
  std::string group;
  const Options options = declare_options(command);
  for (const Options::Declaration& option : options.declarations()) {
    if (option.group != group) text += fmt::format(".SS {}\n", roff(group = option.group));
    text += fmt::format(".TP\n.B {}\n{}\n", roff(option.usage()), roff(option.description()));
  }
  return text + fmt::format(".SS Example\n.nf\n{}\n.fi\n", roff(command.example));
}

}  // namespace

std::string manual_page(const Tool& tool) {
  std::string text = fmt::format(
      ".\\\" Made by {0} --man.\n.TH {1} 1 \"\" \"cosmo {2}\" \"cosmo\"\n.nh\n.ad l\n.SH NAME\n{0} \\- {3}\n.SH SYNOPSIS\n.nf\n",
      tool.name, upper(tool.name), version(), roff(tool.summary));
  for (const Command& command : tool.commands)
    text += fmt::format("{} [OPTION]...{}\n", roff(full_name(tool, command)), positional_of(command));
  text +=
      ".fi\n.SH DESCRIPTION\nDefaults are in brackets.\nEvery option can also be a line NAME = VALUE in the file of "
      "\\-\\-config.\nAll commands run alone or under mpirun.\n";
  for (const Command& command : tool.commands) text += options_of(tool, command);
  text += ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] :
       {std::pair{0, "done, or up to date"},
        {2, "usage: the command line"},
        {3, "values that cannot work, or more memory needed than there is"},
        {4, "input or output failed, memory ran out, a rank was lost, or the CPU is too old"},
        {5, "a damaged or unexpected file"},
        {6, "numbers out of range"},
        {70, "a bug in the toolkit"},
        {75, "stopped before completion: the same command continues"}})
    text += fmt::format(".TP\n.B {}\n{}\n", code, roff(meaning));
  return text +
         ".SH SEE ALSO\n.BR cosmo\\-sim (1),\n.BR cosmo\\-prep (1),\n.BR cosmo\\-train (1),\n"
         ".BR cosmo\\-infer (1)\n";
}

}  // namespace cosmo::core
