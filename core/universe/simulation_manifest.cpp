#include "core/universe/simulation_manifest.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "core/error.hpp"

namespace cosmo::core {

namespace {

Json to_object(const Cosmology& cosmology) {
  Json object;
  for (const CosmologyParameter& row : kCosmologyParameters)
    object[std::string(row.name)] = cosmology.*row.member;
  return object;
}

/// The path of the universe's file with this name, or "".
std::string find_file(const std::vector<std::string>& files, const std::string& name) {
  const auto found = std::find_if(files.begin(), files.end(), [&](const std::string& file) {
    return std::filesystem::path(file).filename() == name;
  });
  return found == files.end() ? "" : *found;
}

Cosmology to_cosmology(const Json& object) {
  Cosmology cosmology;
  for (const CosmologyParameter& row : kCosmologyParameters) {
    cosmology.*row.member = object.value(std::string(row.name), cosmology.*row.member);
  }
  return cosmology;
}

Json to_object(const SimulationRecord& record) {
  Json redshifts = Json::array(), outputs = Json::array();
  for (const SimulationOutput& output : record.outputs) {
    redshifts.push_back(output.redshift);
    outputs.push_back(
        {{"redshift", output.redshift}, {"counts", output.counts}, {"snapshot", output.snapshot}});
  }
  Json object = {{"index", record.index},
                 {"seed", record.universe.seed},
                 {"parameters", to_object(record.universe.cosmology)},
                 {"files", record.files()},
                 {"redshifts", redshifts},
                 {"outputs", outputs}};
  for (const auto& [name, fact] : record.settings) object[kSettingsKey][name] = fact.to_json();
  return object;
}

SimulationRecord to_record(const Json& object, const std::string& source) {
  SimulationRecord record{
      object.at("index"), {object.at("seed"), to_cosmology(object.at("parameters"))}, {}, {}};
  const std::vector<std::string> files = object.at("files");
  record.power_spectrum = find_file(files, kPowerSpectrumName);
  record.correlation_function = find_file(files, kCorrelationFunctionName);
  record.bispectrum = find_file(files, kBispectrumName);
  if (object.contains("outputs")) {
    for (const Json& output : object["outputs"])
      record.outputs.push_back({output.at("redshift"), output.at("counts"), output.at("snapshot")});
  } else {  // earlier manifests, where the names of the files have the redshift
    for (const double z : object.at("redshifts").get<std::vector<double>>())
      record.outputs.push_back({z, find_file(files, counts_name(z)), find_file(files, snapshot_name(z))});
  }
  record.settings = read_facts(object, source, kSettingsKey);
  return record;
}

std::vector<std::string> names_of(const Facts& facts) {
  std::vector<std::string> names;
  for (const auto& [name, fact] : facts) names.push_back(name);
  return names;
}

/// Throws Error{format} unless all universes record the same settings and twins are of one universe.
void check_settings(const SimulationManifest& suite, const std::string& source) {
  const std::vector<SimulationRecord>& records = suite.simulations;
  ensure(suite.twins >= 1 && records.size() % static_cast<std::size_t>(suite.twins) == 0, Fault::format,
         "{} has {} simulations, which cannot be {} twins each: run cosmo-sim again with --force.", source,
         records.size(), suite.twins);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const SimulationRecord& first = records[i - i % static_cast<std::size_t>(suite.twins)];
    ensure(suite.twins == 1 || records[i].universe == first.universe, Fault::format,
           "{} has simulations {} and {}, which are not twins: run cosmo-sim again with --force.", source,
           first.index, records[i].index);
    ensure(names_of(records[i].settings) == names_of(records.front().settings), Fault::format,
           "{} has simulations {} and {} with different settings recorded: run cosmo-sim again with --force.",
           source, records.front().index, records[i].index);
    for (const auto& [name, setting] : records[i].settings) {
      const auto all = suite.facts.find(name);
      ensure(
          !setting.is_several() && all != suite.facts.end() && all->second.covers(setting), Fault::format,
          "{} has simulation {} with {} = {}, which is not among the settings of the suite: run cosmo-sim again with "
          "--force.",
          source, records[i].index, name, setting.text());
    }
  }
}

/// The details as they were before suites had facts.
Json without_facts(Json details) {
  details.erase(kFactsKey);
  return details;
}

/// The details as they were before records had `outputs`.
Json without_outputs(Json details) {
  for (Json& record : details.at("simulations")) record.erase("outputs");
  return details;
}

}  // namespace

std::vector<std::string> SimulationRecord::files() const {
  std::vector<std::string> paths;
  for (const SimulationOutput& output : outputs) paths.push_back(output.counts);
  for (const SimulationOutput& output : outputs) paths.push_back(output.snapshot);
  for (const std::string& table : {power_spectrum, correlation_function, bispectrum}) paths.push_back(table);
  std::erase(paths, "");
  return paths;
}

const std::string& SimulationRecord::counts(double redshift) const {
  const auto found = std::find_if(outputs.begin(), outputs.end(), [&](const SimulationOutput& output) {
    return output.redshift == redshift && !output.counts.empty();
  });
  ensure(found != outputs.end(), Fault::config,
         "Simulation {} of the suite has no counts at z = {}: run cosmo-sim with --save counts, and "
         "{} among --redshifts.",
         index, redshift, redshift);
  return found->counts;
}

std::string counts_name(double redshift) { return fmt::format("counts_z{}.h5", redshift); }
std::string snapshot_name(double redshift) { return fmt::format("snapshot_z{}.hdf5", redshift); }

Json SimulationManifest::details() const {
  Json list = Json::array();
  for (const SimulationRecord& record : simulations) list.push_back(to_object(record));
  Json details = {{"parameters", parameters}, {"grid", grid}, {"simulations", list}};
  write_length(details, "box", box_size);
  if (!line_of_sight.empty()) details[kLineOfSightKey] = line_of_sight;
  if (twins > 1) details["twins"] = twins;
  write_facts(details, facts);
  return details;
}

Foreseen SimulationManifest::foreseen() const {
  Foreseen foreseen{{}, details(), {&without_facts, &without_outputs}};
  for (const SimulationRecord& record : simulations) {
    for (std::string& file : record.files()) foreseen.files.push_back(std::move(file));
  }
  return foreseen;
}

SimulationManifest parse_simulation_manifest(Manifest base, const std::string& source) {
  SimulationManifest suite;
  suite.base = std::move(base);
  const Json& json = suite.base.details;
  reading_json(source, [&] {
    suite.parameters = json.at("parameters");
    suite.box_size = read_length(json, "box");
    suite.grid = json.at("grid");
    suite.line_of_sight = json.value(kLineOfSightKey, "");
    check_line_of_sight(suite.line_of_sight, source);
    suite.facts = read_facts(json, source);
    suite.twins = json.value("twins", 1);
    for (const Json& item : json.at("simulations")) suite.simulations.push_back(to_record(item, source));
  });
  check_settings(suite, source);
  std::set<std::string_view> listed;
  for (const FileRecord& file : suite.base.files) listed.insert(file.path);
  for (const SimulationRecord& record : suite.simulations) {
    for (const std::string& path : record.files()) {
      ensure(listed.contains(path), Fault::format,
             "{} lists no file {} of simulation {}: run cosmo-sim again with --force.", source, path,
             record.index);
    }
  }
  return suite;
}

SimulationManifest load_simulation_manifest(const std::filesystem::path& directory) {
  return parse_simulation_manifest(load_manifest(directory, "generate"),
                                   (directory / kManifestName).string());
}

}  // namespace cosmo::core
