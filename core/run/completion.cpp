#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/run/usage.hpp"

namespace cosmo::core {

namespace {

/// The lines of a `case` for one command: which words may follow the word before the one to complete.
std::string words_of(const Command& command) {
  std::vector<std::string> names, files, others;
  std::string text;
  bool takes_file = false;
  const Options options = declare_options(command);
  for (const Options::Declaration& option : options.declarations()) {
    if (option.is_positional) {
      takes_file = true;
      continue;
    }
    names.push_back(fmt::format("--{}", option.name));
    if (!option.choices.empty()) {
      std::vector<std::string> values = option.choices;  // FILE.json is not a name, but stands for one
      std::erase_if(values, [](const std::string& value) { return value.starts_with("FILE"); });
      const bool list = option.value.ends_with(",...");  // the last name is completed, after those before it
      text += fmt::format("    {}) words='{}'{} ;;\n", names.back(), fmt::join(values, " "),
                          list ? "; words=$list${words// / $list}" : "");
    } else if (option.takes_value()) {
      (option.takes_file() ? files : others).push_back(names.back());
    }
  }
  // Where there are no words bash completes names of files, but for `compopt`.
  return text + fmt::format("    {}) compopt +o default ;;\n    {}) ;;\n    *) {}words='{}' ;;\n",
                            fmt::join(others, "|"), fmt::join(files, "|"),
                            takes_file ? "[ \"${word#-}\" = \"$word\" ] || " : "", fmt::join(names, " "));
}

}  // namespace

std::string completion_script(const Tool& tool) {
  std::string function = "_" + tool.name, cases;
  std::ranges::replace(function, '-', '_');
  std::vector<std::string> commands;
  const Command* nameless = nullptr;
  for (const Command& command : tool.commands) {
    if (command.name.empty()) {
      nameless = &command;
    } else {
      commands.push_back(command.name);
      cases += fmt::format("  {}) case $before in\n{}    esac ;;\n", command.name, words_of(command));
    }
  }
  cases += nameless == nullptr ? std::string("  *) words='--help --version --man --completion' ;;\n")
                               : fmt::format("  *) case $before in\n{}    esac ;;\n", words_of(*nameless));
  return fmt::format(R"(# Completion for bash, made by {0} --completion.
{1}() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} command='' words='' list
  if [ "$word" = = ]; then
    word=  # --name=
  elif [ "$before" = = ]; then
    before=${{COMP_WORDS[COMP_CWORD - 2]}}  # --name=value
  fi
  case $word in -*) before= ;; esac  # another option, after a switch without a value
  list=${{word%"${{word##*,}}"}}
  [ "$COMP_CWORD" -eq 1 ] || command=${{COMP_WORDS[1]}}
  case $command in
{2}  esac
  [ "$COMP_CWORD" -gt 1 ] || words="{3} $words"
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}}
complete -o default -F {1} {0}
)",
                     tool.name, function, cases, fmt::join(commands, " "));
}

}  // namespace cosmo::core
