#include "core/run/options.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <charconv>
#include <cmath>
#include <limits>
#include <sstream>

#include "core/error.hpp"
#include "core/file/input_file.hpp"
#include "core/file/text_file.hpp"
#include "core/printable.hpp"
#include "core/random.hpp"
#include "core/run/help_text.hpp"

namespace cosmo::core {

namespace po = boost::program_options;

namespace {

constexpr std::size_t kLongest = 4096;           ///< longest value [bytes]
constexpr std::size_t kLongestConfig = 1 << 20;  ///< largest file of options [bytes]

/// `text` without the plus sign of a positive number, which from_chars does not accept.
std::string_view without_plus(std::string_view text) {
  return text.starts_with('+') && !text.starts_with("+-") ? text.substr(1) : text;
}

/// The whole number that all of `text` represents; the nearest 64-bit one if it is out of range.
std::optional<std::int64_t> whole_number(std::string_view text) {
  using Limits = std::numeric_limits<std::int64_t>;
  const std::string_view digits = without_plus(text);
  std::int64_t result = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), result);
  if (end != digits.data() + digits.size() || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc()) return result;
  return digits.starts_with('-') ? Limits::min() : Limits::max();
}

/// The finite number that all of `text` represents.
std::optional<double> finite_number(std::string_view text) {
  const std::string_view digits = without_plus(text);
  double result = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), result);
  const bool whole = error == std::errc() && end == digits.data() + digits.size();
  return whole && std::isfinite(result) ? std::optional(result) : std::nullopt;
}

/// Stores what was parsed, whatever its declared type. Throws Error{usage} for a name that is given twice.
void store(const po::parsed_options& parsed, std::map<std::string, std::string>& values,
           const std::string& where) {
  std::map<std::string, std::string> found;
  for (const auto& option : parsed.options) {
    if (option.string_key.empty())
      fail(Fault::usage, "Unexpected word '{}' {}: see --help.", option.value.at(0), where);
    const std::string value = option.value.empty() ? "true" : option.value.front();
    const bool first = found.emplace(option.string_key, value).second;
    ensure(first, Fault::usage, "Option --{} is given twice {}: keep one.", option.string_key, where);
  }
  values.merge(found);
}

}  // namespace

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
  option.is_switch = option.value == "on|off";
  if (option.is_switch) option.choices = {"on", "off"};
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
                         std::function<std::string(const Options&)> translate) {
  Former former{{}, replacement, std::move(translate)};
  for (const std::string& usage : usages) former.options.push_back(named(usage));
  former_.push_back(std::move(former));
}

void Options::add_former_value(std::string name, std::string value, std::string replacement) {
  former_values_.push_back({std::move(name), std::move(value), std::move(replacement)});
}

void Options::add_flag(std::string name, std::string help) {
  declare({.name = std::move(name), .help = std::move(help)});
}

void Options::add_positional(const std::string& name, std::string help) {
  declare({.name = name, .value = upper(name), .help = std::move(help), .is_positional = true});
}

/// The words, with "on" added after each switch that has no value.
std::vector<std::string> Options::complete(const std::vector<std::string>& words) const {
  std::vector<std::string> result;
  const std::vector<Declaration> options = accepted();
  for (std::size_t i = 0; i < words.size(); ++i) {
    result.push_back(words[i]);
    const bool is_switch = std::ranges::any_of(
        options, [&](const auto& option) { return option.is_switch && words[i] == "--" + option.name; });
    if (is_switch && (i + 1 == words.size() || words[i + 1].starts_with("--"))) result.push_back("on");
  }
  return result;
}

/// All options, those of earlier versions included.
std::vector<Options::Declaration> Options::accepted() const {
  std::vector<Declaration> all = declarations_;
  for (const Former& former : former_) all.insert(all.end(), former.options.begin(), former.options.end());
  return all;
}

/// Gives the replacement the value of the options that it has replaced, if the user chose one of them.
void Options::replace_former(const Former& former) {
  std::vector<std::string> used;
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
      fmt::format("{} {} from an earlier version: write --{} {}, since later ones will refuse {}.",
                  fmt::join(used, " and "), used.size() > 1 ? "are" : "is", former.replacement, value,
                  used.size() > 1 ? "them" : "it"));
}

/// Gives the option the value of today, if the user chose the former one.
void Options::replace_former(const FormerValue& former) {
  if (!chosen(former.name) || values_.at(former.name) != former.value) return;
  values_[former.name] = former.replacement;
  warnings_.push_back(
      fmt::format("--{0} {1} is from an earlier version: write --{0} {2}, since later ones will refuse it.",
                  former.name, former.value, former.replacement));
}

void Options::parse(const std::vector<std::string>& words) {
  po::options_description description;
  po::positional_options_description positional;
  for (const Declaration& option : accepted()) {
    if (option.takes_value()) {
      description.add_options()(option.name.c_str(), po::value<std::string>(), "");
    } else {
      description.add_options()(option.name.c_str(), "");
    }
    if (option.is_positional) positional.add(option.name.c_str(), 1);
  }
  try {
    using namespace po::command_line_style;
    store(po::command_line_parser(complete(words))
              .options(description)
              .positional(positional)
              .style(allow_long | long_allow_adjacent | long_allow_next)
              .run(),
          values_, "on the command line");
  } catch (const po::unknown_option& error) {
    fail(Fault::usage, "Unknown option {}: --help lists the options.", error.get_option_name());
  } catch (const po::error& error) {
    fail(Fault::usage, "The command line cannot be read: {}; see --help.", error.what());
  }
  if (given("config")) read_config(text("config"));
  for (const auto& [name, value] : values_) chosen_.insert(name);
  for (const Declaration& option : declarations_) {
    if (option.default_value) values_.emplace(option.name, *option.default_value);
    if (!option.takes_value()) (void)flag(option.name);  // a file may contain any value
  }
  for (const FormerValue& former : former_values_) replace_former(former);
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
    store(po::parse_config_file(lines, description), values_, "in " + path);
  } catch (const po::unknown_option& error) {
    fail(Fault::usage, "Unknown option {} in {}: --help lists the options.", error.get_option_name(), path);
  } catch (const po::invalid_config_file_syntax& error) {  // whose what() does not return for some lines
    fail(Fault::usage, "The file {} of --config has the line '{}': write NAME = VALUE.", path,
         error.tokens());
  } catch (const po::error& error) {
    fail(Fault::usage, "The file {} of --config cannot be read: {}.", path, error.what());
  }
}

const Options::Declaration& Options::declaration(const std::string& name) const {
  const auto in = [&name](const std::vector<Declaration>& options) {
    const auto found = std::ranges::find(options, name, &Declaration::name);
    return found == options.end() ? nullptr : &*found;
  };
  const Declaration* found = in(declarations_);
  for (auto former = former_.begin(); found == nullptr && former != former_.end(); ++former)
    found = in(former->options);
  ensure(found != nullptr, Fault::internal, "Option --{} was never declared.", name);
  return *found;
}

Options Options::with_defaults(const std::map<std::string, std::string>& values) const {
  Options options = *this;
  for (const auto& [name, value] : values) {
    (void)declaration(name);  // throws if it is missing
    options.values_.emplace(name, value);
  }
  return options;
}

bool Options::flag(const std::string& name) const {
  if (!given(name)) return false;
  const std::string& value = values_.at(name);
  ensure(value == "true" || value == "false", Fault::usage, "Option --{} is '{}': write true or false.", name,
         value);
  return value == "true";
}

const std::string& Options::text(const std::string& name) const {
  const Declaration& option = declaration(name);
  if (option.is_positional) {
    ensure(given(name), Fault::usage, "{} is missing: {}; see --help.", name, option.help);
  } else {
    ensure(given(name), Fault::usage, "Option --{} is missing: give --{} ({}).", name, name, option.help);
  }
  const std::string& value = values_.at(name);
  ensure(!value.empty(), Fault::usage, "Option --{} is empty: give it a value.", name);
  ensure(value.size() <= kLongest && is_utf8(value), Fault::usage,
         "Option --{} is longer than {} bytes or not UTF-8 text: give it another value.", name, kLongest);
  return value;
}

bool Options::is_on(const std::string& name) const { return choice(name) == "on"; }

std::vector<double> Options::numbers(const std::string& name) const {
  const std::string& value = text(name);
  std::vector<double> values;
  for (const std::string_view part : cells_of(value, ',')) {
    values.push_back(parse_number(part, "--" + name, value));
  }
  return values;
}

double Options::number(const std::string& name) const {
  return parse_number(text(name), "--" + name, text(name));
}

std::int64_t Options::integer(const std::string& name, std::int64_t low, std::int64_t high) const {
  const std::string& value = text(name);
  const auto result = whole_number(value);
  ensure(result.has_value(), Fault::usage, "Option --{} is '{}': give a whole number.", name, value);
  ensure(*result >= low && *result <= high, Fault::config,
         "Option --{} is {}: choose a value between {} and {}.", name, value, low, high);
  return *result;
}

std::uint64_t Options::seed(const std::string& name) const {
  return static_cast<std::uint64_t>(integer(name, 0, kSeedLimit - 1));
}

const std::string& Options::choice(const std::string& name) const {
  const std::vector<std::string>& names = declaration(name).choices;
  const std::string& value = text(name);
  ensure(std::find(names.begin(), names.end(), value) != names.end(), Fault::usage,
         "Option --{} is '{}': choose {}.", name, value, fmt::join(names, " or "));
  return value;
}

void Options::refuse_all_but(const std::set<std::string>& names, const std::string& purpose) const {
  for (const std::string& name : chosen_) {
    ensure(names.contains(name), Fault::usage, "Option --{} does not concern {}: leave one of them out.",
           name, purpose);
  }
}

std::pair<double, double> Options::range(const std::string& name) const {
  const std::string& value = text(name);
  const auto parts = cells_of(value, ':');
  if (parts.size() == 1) return {number(name), number(name)};
  const auto low = finite_number(parts.front()), high = finite_number(parts.back());
  ensure(parts.size() == 2 && low && high, Fault::usage,
         "Option --{} is '{}': write a finite number, or two as LOW:HIGH.", name, value);
  ensure(*low < *high, Fault::config, "Option --{} is '{}': write LOW:HIGH with LOW below HIGH.", name,
         value);
  return {*low, *high};
}

std::pair<std::int64_t, std::int64_t> Options::interval(const std::string& name, std::int64_t size) const {
  const std::string& value = text(name);
  const auto parts = cells_of(value, ':');
  const auto first = whole_number(parts.front()), last = whole_number(parts.back());
  const bool formed = parts.size() == 2 && first && last;
  ensure(formed && *first >= 0 && *first < *last && *last <= size, formed ? Fault::config : Fault::usage,
         "Option --{} is '{}': write I:J, two whole numbers with 0 <= I < J <= {}.", name, value, size);
  return {*first, *last};
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

double parse_number(std::string_view text, std::string_view what, std::string_view typed) {
  const auto result = finite_number(text);
  ensure(result.has_value(), Fault::usage, "Option {} is '{}': give a finite number.", what, typed);
  return *result;
}

}  // namespace cosmo::core
