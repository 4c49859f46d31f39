#include "sim/plan/choices.hpp"

#include <algorithm>
#include <string_view>

#include "core/error.hpp"
#include "core/file/text_file.hpp"

namespace cosmo::sim {

using core::ensure, core::Fault;

namespace {

/// The choices in "LOW:HIGH" or "VALUE,...", whose values `parse` reads.
template <class T, class Parse>
Choices<T> read_choices(const core::Options& options, const std::string& name, Parse&& parse) {
  const std::string& typed = options.text(name);
  const bool range = typed.find(':') != std::string::npos;
  std::vector<T> values;
  for (const std::string_view part : core::cells_of(typed, range ? ':' : ',')) values.push_back(parse(part));
  if (range) {
    ensure(values.size() == 2, Fault::usage, "Option --{} is '{}': write LOW:HIGH, or a list with commas.",
           name, typed);
    ensure(values[0] < values[1], Fault::config, "Option --{} is '{}': write LOW:HIGH with LOW below HIGH.",
           name, typed);
    return Choices<T>::range(values[0], values[1]);
  }
  for (const T& value : values) {
    ensure(std::ranges::count(values, value) == 1, Fault::config, "Option --{} is '{}': name {} once.", name,
           typed, value);
  }
  return Choices<T>(std::move(values));
}

}  // namespace

Choices<int> read_whole_numbers(const core::Options& options, const std::string& name, int low, int high) {
  return read_choices<int>(options, name, [&](std::string_view part) {
    return static_cast<int>(core::parse_integer(part, "--" + name, low, high));
  });
}

Choices<double> read_numbers(const core::Options& options, const std::string& name) {
  return read_choices<double>(options, name, [&](std::string_view part) {
    return core::parse_number(part, "--" + name, options.text(name));
  });
}

Choices<std::string> read_names(const core::Options& options, const std::string& name,
                                const std::vector<std::string>& known) {
  const std::string& typed = options.text(name);
  std::vector<std::string> names;
  for (const std::string_view part : core::cells_of(typed, ',')) {
    names.emplace_back(part);
    ensure(
        std::ranges::find(known, names.back()) != known.end() && std::ranges::count(names, names.back()) == 1,
        Fault::usage, "Option --{} is '{}': choose {}{}.", name, typed, fmt::join(known, " or "),
        typed.find(',') == std::string::npos ? "" : ", each once");
  }
  return Choices<std::string>(std::move(names));
}

}  // namespace cosmo::sim
