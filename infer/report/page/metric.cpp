#include "infer/report/page/metric.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/picture/svg_plot.hpp"

namespace cosmo::infer {

namespace {

constexpr int kMostDecimals = 12;

/// A number as text, with a minus sign unless it rounds to zero. One that needs more decimals than there are has a power of ten.
std::string number(double value, int decimals) {
  std::string digits = fmt::format("{:.{}f}", std::abs(value), decimals);
  bool zero = digits.find_first_not_of("0.") == std::string::npos;
  if (zero && decimals >= kMostDecimals && value != 0) {
    digits = fmt::format("{:.1e}", std::abs(value));
    zero = false;
  }
  return (value < 0 && !zero ? "−" : "") + digits;
}

}  // namespace

const core::Json* find_metric(const core::Json& metrics, const MetricPath& path) {
  const core::Json* here = &metrics;
  for (const std::string& key : path) {
    if (here->is_array()) {
      const std::size_t at = std::stoul(key);
      if (at >= here->size()) return nullptr;
      here = &here->at(at);
    } else {
      if (!here->is_object() || !here->contains(key)) return nullptr;
      here = &here->at(key);
    }
  }
  return here;
}

std::optional<double> number_at(const core::Json& metrics, const MetricPath& path) {
  const core::Json* value = find_metric(metrics, path);
  const bool number = value != nullptr && value->is_number() && std::isfinite(value->get<double>());
  return number ? std::optional(value->get<double>()) : std::nullopt;
}

int decimals_for(std::optional<double> standard_error, double value) {
  constexpr int kDefault = 4;
  if (!standard_error) return kDefault;
  if (*standard_error <= std::max(1e-14, 1e-6 * std::abs(value))) return 0;  // rounding
  return std::clamp(1 - static_cast<int>(std::floor(std::log10(*standard_error))), 0, kMostDecimals);
}

std::string metric(const core::Json& metrics, const MetricPath& path, int decimals) {
  if (find_metric(metrics, path) == nullptr) return "";
  const std::optional<double> value = number_at(metrics, path);
  return fmt::format("<span data-metric=\"{}\">{}</span>",
                     core::svg::escaped(fmt::format("{}", fmt::join(path, "."))),
                     value ? number(*value, decimals) : "—");
}

std::string counted(const core::Json& metrics, const MetricPath& path, const std::string& things) {
  const bool one = number_at(metrics, path) == 1.0;
  return metric(metrics, path, 0) + " " + (one ? things.substr(0, things.size() - 1) : things);
}

std::string estimate(const core::Json& metrics, MetricPath path, int decimals) {
  std::string html = metric(metrics, path, decimals);
  path.back() += "_se";
  const std::string error = metric(metrics, path, decimals);
  return error.empty() ? html : fmt::format("{} <span class=\"se\">± {}</span>", html, error);
}

}  // namespace cosmo::infer
