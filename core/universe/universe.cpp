#include "core/universe/universe.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.hpp"
#include "core/printable.hpp"
#include "core/random.hpp"

namespace cosmo::core {

namespace {

constexpr double kMegaparsec = 3.0856775814913673e22;  ///< [m]. Source: IAU 2015 Resolution B2
constexpr double kSunGravity = 1.3271244e20;           ///< G Msun [m³/s²]. Source: IAU 2015 Resolution B3

}  // namespace

double OutputHeader::particle_mass() const {
  // Critical density 3 H0² / (8πG) [1e10 h² Msun/Mpc³]; G itself is known less precisely than G Msun.
  const double hubble = 1e5;  // for h = 1 [m/s/Mpc]
  const double critical = 3 * hubble * hubble * kMegaparsec / (8 * std::numbers::pi * kSunGravity) / 1e10;
  return universe.cosmology.omega_m * critical * std::pow(box_size, 3) / static_cast<double>(particles);
}

void check_line_of_sight(const LineOfSight& axis, const std::string& source) {
  ensure(axis.empty() || axis == "x" || axis == "y" || axis == "z", Fault::format,
         "{} is in redshift space along '{}', which is not x, y or z: restore the file.", source, axis);
}

std::string describe_space(const LineOfSight& axis) {
  return axis.empty() ? "real space" : "redshift space along " + axis;
}

void check(const OutputHeader& header, const std::string& path) {
  check_line_of_sight(header.line_of_sight, path);
  ensure(std::isfinite(header.box_size) && header.box_size > 0, Fault::format,
         "{} has a box of {} Mpc/h: restore the file.", path, header.box_size);
  ensure(header.universe.seed < kSeedLimit, Fault::format,
         "{} has the seed {}, which is not below 2^53: correct it.", path, header.universe.seed);
  ensure(std::isfinite(header.redshift) && header.redshift >= 0, Fault::format,
         "{} has the redshift {}, which is not 0 or more: restore the file.", path, header.redshift);
  try {
    validate(header.universe.cosmology);
  } catch (const Error& error) {
    fail(Fault::format, "{} describes a universe that cosmo-sim does not make ({}): restore the file.", path,
         std::string_view(error.what()).substr(0, std::string_view(error.what()).find(':')));
  }
}

bool is_parameter_name(std::string_view name) {
  constexpr std::size_t kLongest = 64;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && name.size() <= kLongest && is_letter(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return is_letter(c) || is_digit(c); });
}

void ParameterSpace::add(std::string_view name, double lowest, double highest) {
  names.emplace_back(name);
  low.push_back(lowest);
  high.push_back(highest);
}

ParameterSpace varying_in(std::span<const Universe> universes) {
  ParameterSpace space;
  for (const CosmologyParameter& row : kCosmologyParameters) {
    const auto value = [&](const Universe& universe) { return universe.cosmology.*row.member; };
    const auto [low, high] = std::ranges::minmax_element(universes, {}, value);
    if (value(*low) < value(*high)) space.add(row.name, value(*low), value(*high));
  }
  return space;
}

void to_json(Json& json, const ParameterSpace& space) {
  json = {{"names", space.names}, {"low", space.low}, {"high", space.high}};
}

void from_json(const Json& json, ParameterSpace& space) {
  space = {json.at("names"), json.at("low"), json.at("high")};
  ensure(space.low.size() == space.size() && space.high.size() == space.size(), Fault::format,
         "The parameters' names and limits differ in number: run the stage again with --force.");
  const auto bad = std::ranges::find_if_not(space.names, is_parameter_name);
  ensure(bad == space.names.end(), Fault::format,
         "A parameter is called '{}': use names of letters, digits and _, at most 64 of them.",
         bad == space.names.end() ? "" : one_line(*bad));
}

}  // namespace cosmo::core
