#include "nn/output/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.hpp"

namespace cosmo::nn {

namespace {

const LossEntry& find_loss(std::string_view name) {
  const auto found = std::ranges::find(kLosses, name, &LossEntry::name);
  core::ensure(found != kLosses.end(), core::Fault::format, "There is no loss called {}: train again.", name);
  return *found;
}

}  // namespace

Output::Output(std::string_view loss, int parameters, int components)
    : loss_(loss), components_(components), kind_(Labels{parameters, LabelError::absolute}) {
  const LossEntry& entry = find_loss(loss);
  core::ensure(entry.make != nullptr, core::Fault::config,
               "--loss {} is of classes, not of parameters: give --target web, or another loss.", loss);
  kind_ = entry.make(parameters, components);
}

Output::Output(std::string_view loss, Shape field) : loss_(loss), components_(0) {
  const LossEntry& entry = find_loss(loss);
  const auto error = entry.of_fields;
  core::ensure(error.has_value(), core::Fault::config, "--loss {} is of {}, not of a field: give mse or mae.",
               loss, entry.of_classes ? "classes" : "parameters");
  kind_ = Field{field, *error};
}

Output::Output(std::string_view loss, Shape logits, std::vector<double> weights)
    : loss_(loss), components_(0) {
  core::ensure(find_loss(loss).of_classes, core::Fault::config,
               "--loss {} is of numbers, not of classes: give cross-entropy, or leave it out.", loss);
  core::ensure(std::cmp_equal(weights.size(), logits.channels), core::Fault::format,
               "There are {} weights of {} classes: train again.", weights.size(), logits.channels);
  kind_ = Classes{logits, std::move(weights)};
}

int default_components(std::string_view loss) { return find_loss(loss).components; }

Output Output::requested(const core::Options::NamedValue& option, Shape field) {
  core::ensure(!option.value, core::Fault::usage,
               "Option --loss is '{}:{}': a loss of fields takes no number; leave it out.", option.name,
               option.value.value_or(""));
  return {option.name, field};
}

Output Output::requested(const core::Options::NamedValue& option, Shape logits,
                         std::span<const double> shares) {
  const double exponent = option.value
                              ? core::parse_number(*option.value, "--loss " + option.name, *option.value)
                              : kClassExponent;
  core::ensure(exponent >= 0 && exponent <= 1, core::Fault::config,
               "--loss {}:{} is outside of 0 to 1: 0 leaves voxels alike, 1 makes classes alike.",
               option.name, exponent);
  return {option.name, logits, class_weights(shares, exponent)};
}

Output Output::requested(const core::Options::NamedValue& option, int parameters) {
  const LossEntry& loss = find_loss(option.name);
  if (!option.value) return {loss.name, parameters, loss.components};
  core::ensure(loss.components > 0, core::Fault::usage,
               "Option --loss is '{}:{}': only mixture takes a number of Gaussians; leave it out.",
               option.name, *option.value);
  const std::int64_t components =
      core::parse_integer(*option.value, fmt::format("--loss {}", loss.name), 1, kMostComponents);
  return {loss.name, parameters, static_cast<int>(components)};
}

Shape Output::shape() const {
  return std::visit([](const auto& kind) { return kind.shape(); }, kind_);
}

std::vector<float> Output::start() const {
  return std::visit([](const auto& kind) { return kind.start(); }, kind_);
}

double Output::loss(const LossArrays& arrays, const LossRows& rows) const {
  return std::visit([&](const auto& kind) { return kind.loss(arrays, rows); }, kind_);
}

std::size_t Output::calibration_values() const {
  return std::visit([](const auto& kind) { return kind.calibration_values(); }, kind_);
}

void Output::ensure_made_by(const NetworkSpec& network, const NetworkCensus& census) const {
  std::visit([&](const auto& kind) { kind.ensure_made_by(network, census); }, kind_);
}

std::string Output::option() const {
  return components_ > 0 ? fmt::format("{}:{}", loss_, components_) : loss_;
}

void Output::identify(core::Json& config) const {
  config["loss"] = loss_;
  if (components_ > 0) config["components"] = components_;
  if (const auto* classes = std::get_if<Classes>(&kind_)) classes->identify(config);
}

}  // namespace cosmo::nn
