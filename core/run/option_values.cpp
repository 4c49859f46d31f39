#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "core/file/text_file.hpp"
#include "core/printable.hpp"
#include "core/random.hpp"
#include "core/run/options.hpp"

namespace cosmo::core {

namespace {

constexpr std::size_t kLongest = 4096;  ///< longest value [bytes]

/// `text` without the plus sign of a positive number, which from_chars does not accept.
std::string_view without_plus(std::string_view text) {
  return text.starts_with('+') && !text.starts_with("+-") ? text.substr(1) : text;
}

/// Throws Error{usage} for a word that no option may have as its value.
void ensure_word(const std::string& name, const std::string& word) {
  ensure(!word.empty(), Fault::usage, "Option --{} is empty: give it a value.", name);
  ensure(word.size() <= kLongest && is_utf8(word), Fault::usage,
         "Option --{} is longer than {} bytes or not UTF-8 text: give it another value.", name, kLongest);
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

}  // namespace

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
  ensure_word(name, values_.at(name));
  return values_.at(name);
}

std::vector<std::string> Options::texts(const std::string& name) const {
  const Declaration& option = declaration(name);
  ensure(given(name) || !option.is_positional, Fault::usage, "{} is missing: {}; see --help.", name,
         option.help);
  if (!given(name)) return {text(name)};  // throws
  std::vector<std::string> words;
  for (const std::string_view word : cells_of(values_.at(name), kBetweenValues)) {
    words.emplace_back(word);
    ensure(!option.is_positional || !word.empty(), Fault::usage, "A {} is empty: give its name.", name);
    ensure_word(name, words.back());
  }
  return words;
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

double Options::number_or_off(const std::string& name, double off) const {
  const std::string& value = text(name);
  if (value == "off") return off;
  const auto result = finite_number(value);
  ensure(result.has_value(), Fault::usage, "Option --{} is '{}': give a finite number, or off.", name, value);
  return *result;
}

std::int64_t Options::integer(const std::string& name, std::int64_t low, std::int64_t high) const {
  return parse_integer(text(name), "--" + name, low, high);
}

std::uint64_t Options::seed(const std::string& name) const {
  return static_cast<std::uint64_t>(integer(name, 0, kSeedLimit - 1));
}

const std::string& Options::choice(const std::string& name) const {
  ensure_choice(name, text(name));
  return text(name);
}

Options::NamedValue Options::named_value(const std::string& name) const {
  const std::string& typed = text(name);
  const std::size_t colon = typed.find(':');
  NamedValue parts{typed.substr(0, colon), std::nullopt};
  ensure_choice(name, parts.name);
  if (colon != std::string::npos) parts.value = typed.substr(colon + 1);
  return parts;
}

void Options::ensure_choice(const std::string& name, const std::string& chosen) const {
  const std::vector<std::string>& names = declaration(name).choices;
  ensure(std::ranges::find(names, chosen) != names.end(), Fault::usage, "Option --{} is '{}': choose {}.",
         name, chosen, fmt::join(names, " or "));
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
  if (parts.size() == 1 && finite_number(value)) return {number(name), number(name)};
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

double parse_number(std::string_view text, std::string_view what, std::string_view typed) {
  const auto result = finite_number(text);
  ensure(result.has_value(), Fault::usage, "Option {} is '{}': give a finite number.", what, typed);
  return *result;
}

std::int64_t parse_integer(std::string_view text, std::string_view what, std::int64_t low,
                           std::int64_t high) {
  const auto result = whole_number(text);
  ensure(result.has_value(), Fault::usage, "Option {} is '{}': give a whole number.", what, text);
  ensure(*result >= low && *result <= high, Fault::config,
         "Option {} is {}: choose a value between {} and {}.", what, text, low, high);
  return *result;
}

}  // namespace cosmo::core
