#include "core/run/usage.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <optional>

#include "core/run/help_text.hpp"
#include "core/version.hpp"

namespace cosmo::core {

namespace {

/// Help on the commands that a tool has besides its nameless one.
std::string other_commands(const Tool& tool) {
  std::string text;
  for (const Command& command : tool.commands) {
    if (!command.name.empty())
      text += fmt::format("\n{}\n",
                          wrapped(fmt::format("{} {} --help: {}", tool.name, command.name, command.summary),
                                  help_width(), 0, 0));
  }
  return text;
}

}  // namespace

std::string full_name(const Tool& tool, const Command& command) {
  return command.name.empty() ? tool.name : tool.name + " " + command.name;
}

Options declare_options(const Command& command) {
  Options options;
  command.declare(options);
  options.begin_group("Output and running");
  if (command.writes_output) {
    options.add("output DIR", std::nullopt, "directory to write");
    options.add_flag("dry-run", "print the plan, memory and disk needed, and stop");
    options.add_flag("force",
                     "remove the files of a different request of this stage from --output, and damaged ones "
                     "of this request; nothing else");
  }
  options.add("config FILE", std::nullopt,
              "INI file with the same names as these options; the command line wins");
  options.add(
      "threads N", "0",
      "OpenMP threads per rank, whatever OMP_NUM_THREADS is; 0: the cores available, shared by the ranks of a "
      "machine");
  options.add(
      "peer-timeout MINUTES", "5",
      "minutes without a sign of life after which a rank is considered lost and the run ends; 0: never");
  options.add_flag("json", "print the summary as one JSON object");
  options.add_flag("quiet", "print warnings, errors and the summary only");
  options.add_flag("help", "print this and stop; also -h");
  options.add_flag("version", "print the version and stop");
  options.add_flag("man", "print the manual page and stop");
  options.add_flag("completion", "print a script that makes bash complete this tool's options, and stop");
  return options;
}

std::string version_text(const Tool& tool) {
  return fmt::format("{} {} ({}; {}; {}, {}{}{})\n", tool.name, version(), git_commit(), build_flags(),
                     mpi_version(), hdf5_version(), tool.libraries.empty() ? "" : ", ",
                     fmt::join(tool.libraries, ", "));
}

std::string tool_help(const Tool& tool) {
  constexpr std::size_t kBegin = 13;  // column of the descriptions
  const std::size_t width = help_width();
  std::string text = wrapped(fmt::format("{}: {}", tool.name, tool.summary), width, 0, 0) + "\n\nCommands:\n";
  for (const Command& command : tool.commands) {
    text += fmt::format("  {:<{}} {}\n", command.name, kBegin - 3,
                        wrapped(command.summary, width, kBegin, kBegin));
  }
  return text + fmt::format("\n{} COMMAND --help lists a command's options.\n", tool.name);
}

std::string command_help(const Tool& tool, const Command& command) {
  const std::size_t width = help_width();
  const std::string codes = fmt::format(
      "Exit codes: 0 done, 2 usage, 3 values that cannot work, 4 input/output or memory, 5 damaged or "
      "unexpected file, 6 numbers out of range, 70 bug in the toolkit{}.",
      command.on_stop == OnStop::save ? ", 75 stopped before completion: the same command continues" : "");
  return fmt::format("{}\n\nOptions [default]:\n{}\nExample:\n  {}\n\n{}\n{}",
                     wrapped(full_name(tool, command) + ": " + command.summary, width, 0, 0),
                     declare_options(command).help(), wrapped(command.example, width, 2, 6, " \\"),
                     wrapped(codes, width, 0, 0), command.name.empty() ? other_commands(tool) : "");
}

}  // namespace cosmo::core
