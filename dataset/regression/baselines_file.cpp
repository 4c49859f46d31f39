// baselines.h5 of a model.

#include <algorithm>
#include <cmath>
#include <span>

#include "core/error.hpp"
#include "core/hdf5/hdf5.hpp"
#include "dataset/regression/learned_baselines.hpp"

namespace cosmo::dataset {

namespace {

using core::hdf5::File;
using Eigen::Index;
using Eigen::MatrixXd;

constexpr const char* kSchema = "cosmo.baselines/1";
constexpr const char* kOfUniverses = "information_of_universes";
constexpr const char* kOfSubvolumes = "information_of_subvolumes";

void write_numbers(File& file, const std::string& name, const std::vector<double>& values) {
  file.write(name, {values.size()}, std::span<const double>(values));
}

void write_information(File& file, const std::string& group, const std::optional<PowerInformation>& found) {
  if (!found) return;
  const auto parameters = static_cast<std::size_t>(found->fisher.rows());
  std::vector<double> values;  // row by row
  for (Index i = 0; i < found->fisher.rows(); ++i) {
    for (Index j = 0; j < found->fisher.cols(); ++j) values.push_back(found->fisher(i, j));
  }
  file.write(group + "/fisher", {parameters, parameters}, std::span<const double>(values));
  file.set_attribute(group + "/k_max", found->k_max);
  file.set_attribute(group + "/unit", std::string(name_of(found->unit)));
  file.set_attribute(group + "/universes", static_cast<std::uint64_t>(found->universes));
  file.set_attribute(group + "/bins", static_cast<std::uint64_t>(found->bins));
}

/// Reads numbers, each finite and not negative.
std::vector<double> read_numbers(const File& file, const std::string& name, std::size_t count,
                                 const std::string& path) {
  std::vector<double> values = file.read<double>(name, {count});
  core::ensure(std::ranges::all_of(values, [](double value) { return std::isfinite(value) && value >= 0; }),
               core::Fault::format, "{} has a value in {} that cannot be: restore it, or train again.", path,
               name);
  return values;
}

std::optional<PowerInformation> read_information(const File& file, const std::string& group,
                                                 std::size_t parameters, const std::string& path) {
  if (!file.has(group)) return std::nullopt;
  const std::vector<double> values = file.read<double>(group + "/fisher", {parameters, parameters});
  const auto size = static_cast<Index>(parameters);
  const MatrixXd fisher = Eigen::Map<const MatrixXd>(values.data(), size, size).transpose();
  PowerInformation found{
      fisher, file.number_attribute(group + "/k_max"),
      file.text_attribute(group + "/unit") == name_of(core::LengthUnit::mpc) ? core::LengthUnit::mpc
                                                                             : core::LengthUnit::mpc_h,
      file.integer_attribute(group + "/universes"), file.integer_attribute(group + "/bins")};
  core::ensure(fisher.allFinite() && std::isfinite(found.k_max) && found.k_max > 0, core::Fault::format,
               "{} has a value in {} that cannot be: restore it, or train again.", path, group);
  return found;
}

}  // namespace

std::uint64_t baselines_bytes(const SampleSpec& spec) {
  constexpr std::uint64_t kComponents = 10, kProducts = 55,
                          kStandard = 2;        // numbers for each feature, or in all
  constexpr std::uint64_t kOfArrays = 1 << 16;  // HDF5's overhead, at most
  const std::uint64_t parameters = spec.parameters.size();
  const auto features = static_cast<std::uint64_t>(spec.input.channels()) *
                        (static_cast<std::uint64_t>(spec.side()) + kValueBins + 3);
  return kOfArrays + kRegressionKinds.size() * sizeof(double) *
                         (features * (kComponents + kStandard + parameters) + kProducts * parameters);
}

void write_baselines(const std::filesystem::path& path, const LearnedBaselines& learned) {
  File file = File::create(path);
  file.set_attribute("schema", std::string(kSchema));
  file.set_attribute("universes", static_cast<std::uint64_t>(learned.universes));
  file.set_attribute("samples", static_cast<std::uint64_t>(learned.samples));
  write_numbers(file, "k", learned.k);
  for (std::size_t i = 0; i < learned.regressions.size(); ++i) {
    const std::string group = kRegressionKinds[i].key;
    const LearnedRegression& entry = learned.regressions[i];
    entry.regression.write(file, group);
    if (!kRegressionKinds[i].of_universes)
      write_numbers(file, group + "/error_of_subvolumes", entry.error_of_subvolumes);
    write_numbers(file, group + "/error_of_universes", entry.error_of_universes);
  }
  write_information(file, kOfUniverses, learned.information.universes);
  write_information(file, kOfSubvolumes, learned.information.subvolumes);
  file.close();
}

LearnedBaselines read_baselines(const std::filesystem::path& path, std::size_t parameters) {
  const File file = File::open(path);
  core::ensure(file.text_attribute("schema") == kSchema, core::Fault::format,
               "{} does not hold baselines of this version: restore it, or train again.", path.string());
  LearnedBaselines learned{
      file.integer_attribute("universes"), file.integer_attribute("samples"), {}, {}, {}};
  const core::hdf5::Shape bins = file.dataset("k").shape();
  learned.k = read_numbers(file, "k", bins.empty() ? 0 : bins.front(), path.string());
  if (!file.has(kRegressionKinds.front().key)) return learned;
  for (const RegressionKind& kind : kRegressionKinds) {
    const std::string group = kind.key;
    const auto errors = [&](const char* name) {
      return read_numbers(file, group + name, parameters, path.string());
    };
    learned.regressions.push_back({Regression::read(file, group, static_cast<Index>(parameters)),
                                   kind.of_universes ? std::vector<double>() : errors("/error_of_subvolumes"),
                                   errors("/error_of_universes")});
  }
  learned.information = {read_information(file, kOfUniverses, parameters, path.string()),
                         read_information(file, kOfSubvolumes, parameters, path.string())};
  return learned;
}

}  // namespace cosmo::dataset
