#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "core/format/json.hpp"
#include "core/named.hpp"
#include "core/run/options.hpp"

namespace cosmo::sim {

/// What an option allows the universes of a suite: one value, a list, or all numbers of a range.
template <class T>
class Choices {
 public:
  Choices(T value) : values_{std::move(value)} {}
  explicit Choices(std::vector<T> list) : values_(std::move(list)) {}
  static Choices range(T low, T high) {
    Choices choices(std::vector<T>{low, high});
    choices.is_range_ = true;
    return choices;
  }

  bool vary() const { return values_.size() > 1; }
  bool is_range() const { return is_range_; }
  /// The value, those of the list, or the ends of the range.
  const std::vector<T>& values() const { return values_; }

  /// The choice at a fraction of all, in [0, 1): whole numbers of a range are as likely as each other.
  T at(double fraction) const {
    if constexpr (std::integral<T>) {
      if (is_range_)
        return values_[0] + static_cast<T>(std::floor(fraction * (values_[1] - values_[0] + 1.0)));
    } else if constexpr (std::floating_point<T>) {
      if (is_range_) return values_[0] + (values_[1] - values_[0]) * fraction;
    }
    return values_[static_cast<std::size_t>(fraction * static_cast<double>(values_.size()))];
  }

  /// A value as it is, a list, or {"low", "high"}.
  core::Json to_json() const {
    if (is_range_) return {{"low", values_[0]}, {"high", values_[1]}};
    return vary() ? core::Json(values_) : core::Json(values_[0]);
  }
  /// "10", "5, 10 or 20", "5 to 20"
  std::string text() const {
    if (is_range_) return fmt::format("{} to {}", values_[0], values_[1]);
    std::vector<std::string> texts;
    for (const T& value : values_) texts.push_back(fmt::format("{}", value));
    return core::alternatives(texts);
  }

 private:
  std::vector<T> values_;
  bool is_range_ = false;
};

/// What a value of the command line may be if its numbers may vary, for usages: "N|LOW:HIGH|N,...".
inline constexpr const char* kVariesHelp = "; LOW:HIGH or a list makes it vary from universe to universe";
inline constexpr const char* kListHelp = "; a list makes it vary from universe to universe";

/// Whole numbers low … high. Throws Error{usage} or Error{config} naming the option.
Choices<int> read_whole_numbers(const core::Options& options, const std::string& name, int low, int high);
/// Finite numbers. Throws as above.
Choices<double> read_numbers(const core::Options& options, const std::string& name);
/// Names that were declared as the option's choices. Throws Error{usage} naming the option.
Choices<std::string> read_names(const core::Options& options, const std::string& name,
                                const std::vector<std::string>& known);

}  // namespace cosmo::sim
