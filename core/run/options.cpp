#include "core/run/options.hpp"

#include <algorithm>
#include <limits>

#include "core/error.hpp"
#include "core/run/help_text.hpp"

namespace cosmo::core {

void Options::begin_group(std::string title) {
  group_ = std::move(title);
  if (std::ranges::find(groups_, group_) == groups_.end()) groups_.push_back(group_);
}

void Options::declare(Declaration declaration) {
  const auto place = [this](const std::string& title) {
    if (title.empty() || title == kEveryDay) return -1;
    if (title == kForExperts) return std::numeric_limits<int>::max();
    return static_cast<int>(std::ranges::find(groups_, title) - groups_.begin());
  };
  declaration.group = group_;
  const auto behind = std::ranges::upper_bound(declarations_, place(group_), {},
                                               [&](const Declaration& other) { return place(other.group); });
  declarations_.insert(behind, std::move(declaration));
}

namespace {

/// "epochs N" as a name and how help shows the value, which is empty if there is none.
Options::Declaration named(const std::string& usage) {
  const std::size_t end = usage.find(' ');
  Options::Declaration option{.name = usage.substr(0, end),
                              .value = end == std::string::npos ? "" : usage.substr(end + 1)};
  if (option.is_switch()) option.choices = {"on", "off"};
  option.is_list = option.value.ends_with(" ...");
  return option;
}

}  // namespace

void Options::add(const std::string& usage, std::optional<std::string> default_value, std::string help,
                  std::vector<std::string> choices) {
  Declaration option = named(usage);
  ensure(option.takes_value() || !choices.empty(), Fault::internal,
         "Option --{} is declared without what help shows as its value.", usage);
  if (!option.takes_value()) option.value = "NAME";
  option.default_value = std::move(default_value);
  option.help = std::move(help);
  if (!choices.empty()) option.choices = std::move(choices);
  declare(std::move(option));
}

void Options::add_former(const std::vector<std::string>& usages, const std::string& replacement,
                         std::string gone_in, std::function<std::string(const Options&)> translate) {
  Former former{.replacement = replacement, .gone_in = std::move(gone_in), .translate = std::move(translate)};
  for (const std::string& usage : usages) {
    Declaration option = named(usage);
    if (option.name == replacement) {
      former.value = option.value;
    } else {
      former.options.push_back(std::move(option));
    }
  }
  former_.push_back(std::move(former));
}

void Options::add_flag(std::string name, std::string help) {
  declare({.name = std::move(name), .help = std::move(help)});
}

void Options::add_positional(const std::string& name, std::string help) {
  declare({.name = name, .value = upper(name), .help = std::move(help), .is_positional = true});
}

void Options::add_positionals(const std::string& name, std::string help) {
  declare({.name = name,
           .value = upper(name) + "...",
           .help = std::move(help),
           .is_positional = true,
           .is_list = true});
}

std::string Options::Declaration::usage() const {
  return is_positional ? value : "--" + name + (takes_value() ? " " + value : "");
}

bool Options::Declaration::takes_file() const {
  return value.find("FILE") != std::string::npos || value.find("DIR") != std::string::npos;
}

std::string Options::Declaration::description() const {
  return help + (default_value ? fmt::format(" [{}]", *default_value) : "");
}

std::string Options::help() const {
  std::size_t width = 0;
  std::vector<std::string> names;
  for (const Declaration& option : declarations_) {
    names.push_back(option.usage());
    width = std::max(width, names.back().size());
  }
  const std::size_t columns = help_width();
  std::string text, group;
  for (std::size_t i = 0; i < declarations_.size(); ++i) {
    if (declarations_[i].group != group) {
      group = declarations_[i].group;
      text += fmt::format("\n{}:\n", group);
    }
    text += fmt::format("  {:<{}}  {}\n", names[i], width,
                        wrapped(declarations_[i].description(), columns, width + 4, width + 4));
  }
  return text;
}

}  // namespace cosmo::core
