#pragma once
// What a tool prints about itself, all of it from its table of commands and their options.

#include <string>

#include "core/run/options.hpp"
#include "core/run/tool.hpp"

namespace cosmo::core {

/// What a user types before the options: the tool, and the command if that has a name.
std::string full_name(const Tool& tool, const Command& command);

/// The options of a command: its own, then those that all commands have.
Options declare_options(const Command& command);

/// --version: the tool's version, its build and the libraries it is linked to.
std::string version_text(const Tool& tool);

/// --help of a tool that has no nameless command: its commands.
std::string tool_help(const Tool& tool);

/// --help of a command.
std::string command_help(const Tool& tool, const Command& command);

/// --man: the manual page, for man or groff -man.
std::string manual_page(const Tool& tool);

/// --completion: a script for bash that completes commands, options and their values.
std::string completion_script(const Tool& tool);

}  // namespace cosmo::core
