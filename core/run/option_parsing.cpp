#include <boost/program_options.hpp>
#include <set>
#include <sstream>

#include "core/error.hpp"
#include "core/file/input_file.hpp"
#include "core/file/text_file.hpp"
#include "core/named.hpp"
#include "core/near_name.hpp"
#include "core/printable.hpp"
#include "core/run/options.hpp"

namespace cosmo::core {

namespace po = boost::program_options;

namespace {

constexpr std::size_t kLongestConfig = 1 << 20;  ///< largest file of options [bytes]

/// Stores what was parsed, whatever its declared type. Throws Error{usage} for a name that is given twice and is not one of
/// `lists`, whose values are joined.
void store(const po::parsed_options& parsed, const std::set<std::string>& lists,
           std::map<std::string, std::string>& values, const std::string& where) {
  std::map<std::string, std::string> found;
  for (const auto& option : parsed.options) {
    if (option.string_key.empty())
      fail(Fault::usage, "Unexpected word '{}' {}: see --help.", option.value.at(0), where);
    const std::string value = option.value.empty() ? "true" : option.value.front();
    const auto [place, first] = found.emplace(option.string_key, value);
    if (!first && lists.contains(option.string_key)) {
      place->second += kBetweenValues + value;
      continue;
    }
    ensure(first, Fault::usage, "Option --{} is given twice {}: keep one.", option.string_key, where);
  }
  values.merge(found);
}

/// What to do about an option that is unknown.
std::string advice(const std::string& unknown, const std::vector<std::string>& names,
                   std::string_view dashes) {
  const auto meant = near_name(unknown, names);
  return meant ? fmt::format("write {}{}, or see --help for all options", dashes, *meant)
               : "--help lists the options";
}

}  // namespace

/// The words, with what it means added after each name that stands alone and may.
std::vector<std::string> Options::complete(const std::vector<std::string>& words) const {
  std::vector<std::string> result;
  const std::vector<Declaration> options = accepted();
  for (std::size_t i = 0; i < words.size(); ++i) {
    result.push_back(words[i]);
    if (i + 1 < words.size() && !words[i + 1].starts_with("--")) continue;
    for (const Declaration& option : options) {
      if (words[i] == "--" + option.name && option.bare()) result.push_back(*option.bare());
    }
  }
  return result;
}

/// The words, with a list's name before each of its own.
std::vector<std::string> Options::name_listed(const std::vector<std::string>& words) const {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    result.push_back(words[i]);
    const std::size_t equal = std::min(words[i].find('='), words[i].size());
    const std::string name = words[i].substr(0, equal);
    const bool list = std::ranges::any_of(
        declarations_, [&](const auto& option) { return option.is_list && name == "--" + option.name; });
    const auto value_follows = [&] {
      return list && i + 1 < words.size() && !words[i + 1].starts_with("--");
    };
    if (equal == words[i].size() && value_follows()) result.push_back(words[++i]);
    while (value_follows()) result.insert(result.end(), {name, words[++i]});
  }
  return result;
}

/// All options, those of earlier versions included.
std::vector<Options::Declaration> Options::accepted() const {
  std::vector<Declaration> all = declarations_;
  for (const Former& former : former_) all.insert(all.end(), former.options.begin(), former.options.end());
  return all;
}

/// Gives the replacement the value of what it has replaced, if the user chose any of that.
void Options::replace_former(const Former& former) {
  std::vector<std::string> used;
  if (former.value && chosen(former.replacement) && text(former.replacement) == *former.value)
    used.push_back(fmt::format("--{} {}", former.replacement, *former.value));
  for (const Declaration& option : former.options) {
    if (chosen(option.name)) used.push_back("--" + option.name);
  }
  if (used.empty()) return;
  const std::string value = former.translate(*this);
  for (const Declaration& option : former.options) {
    values_.erase(option.name);
    chosen_.erase(option.name);
  }
  values_[former.replacement] = value;
  chosen_.insert(former.replacement);
  warnings_.push_back(
      fmt::format("{} {} from an earlier version: write --{} {}, since version {} will refuse {}.",
                  fmt::join(used, " and "), used.size() > 1 ? "are" : "is", former.replacement, value,
                  former.gone_in, used.size() > 1 ? "them" : "it"));
}

void Options::parse(const std::vector<std::string>& words) {
  po::options_description description;
  po::positional_options_description positional;
  std::set<std::string> lists;
  for (const Declaration& option : accepted()) {
    if (option.takes_value()) {
      description.add_options()(option.name.c_str(), po::value<std::string>(), "");
    } else {
      description.add_options()(option.name.c_str(), "");
    }
    if (option.is_positional) positional.add(option.name.c_str(), option.is_list ? -1 : 1);
    if (option.is_list) lists.insert(option.name);
  }
  try {
    using namespace po::command_line_style;
    store(po::command_line_parser(complete(name_listed(words)))
              .options(description)
              .positional(positional)
              .style(allow_long | long_allow_adjacent | long_allow_next)
              .run(),
          lists, values_, "on the command line");
  } catch (const po::unknown_option& error) {
    fail(Fault::usage, "Unknown option {}: {}.", error.get_option_name(),
         advice(error.get_option_name(), names_in(declarations_), "--"));
  } catch (const po::too_many_positional_options_error&) {
    const bool some = std::ranges::any_of(declarations_, &Declaration::is_positional);
    fail(Fault::usage, "{}: see --help.",
         some ? "More values without a name are given than there are"
              : "A value stands without the name of its option");
  } catch (const po::error& error) {
    fail(Fault::usage, "The command line cannot be read: {}; see --help.", error.what());
  }
  if (given("config")) read_config(text("config"));
  for (const Declaration& option : declarations_) {  // a file names one without its value as it does a flag
    const auto stated = values_.find(option.name);
    if (stated == values_.end() || !option.bare() || option.is_switch()) continue;
    if (stated->second == "true") stated->second = *option.bare();
    if (stated->second == "false") values_.erase(stated);
  }
  for (const auto& [name, value] : values_) chosen_.insert(name);
  for (const Declaration& option : declarations_) {
    if (option.default_value) values_.emplace(option.name, *option.default_value);
    if (!option.takes_value()) (void)flag(option.name);  // a file may contain any value
  }
  for (const Former& former : former_) replace_former(former);
}

void Options::read_config(const std::string& path) {
  std::string content;
  try {
    content = read_text(path, kLongestConfig);
  } catch (const Error& error) {
    fail(error.fault(), "--config: {}", error.what());
  }
  if (content.starts_with(kByteOrderMark)) content.erase(0, kByteOrderMark.size());
  std::erase(content, '\r');
  // Messages quote its lines.
  ensure(printable(content) == content, Fault::usage,
         "The file {} of --config is not text: give a file of lines NAME = VALUE in UTF-8.", path);
  std::istringstream lines(content);
  po::options_description description;
  for (const Declaration& option : accepted()) {  // --config inside a file would be ignored
    if (option.name != "config") description.add_options()(option.name.c_str(), po::value<std::string>(), "");
  }
  try {
    store(po::parse_config_file(lines, description), {}, values_, "in " + path);
  } catch (const po::unknown_option& error) {
    fail(Fault::usage, "Unknown option {} in {}: {}.", error.get_option_name(), path,
         advice(error.get_option_name(), names_in(declarations_), ""));
  } catch (const po::invalid_config_file_syntax& error) {  // whose what() does not return for some lines
    fail(Fault::usage, "The file {} of --config has the line '{}': write NAME = VALUE.", path,
         error.tokens());
  } catch (const po::error& error) {
    fail(Fault::usage, "The file {} of --config cannot be read: {}.", path, error.what());
  }
}

}  // namespace cosmo::core
