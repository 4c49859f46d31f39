#include "core/universe/simulation_manifest.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "core/error.hpp"
#include "core/universe/universe_table.hpp"

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
    if (!output.velocity.empty()) outputs.back()["velocity"] = output.velocity;
    if (!output.web.empty()) outputs.back()["web"] = output.web;
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
  record.initial = find_file(files, kInitialName);
  if (object.contains("outputs")) {
    for (const Json& output : object["outputs"])
      record.outputs.push_back({output.at("redshift"), output.at("counts"), output.at("snapshot"),
                                output.value("velocity", ""), output.value("web", "")});
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

/// Where the universes of a suite of packs are: all that a manifest states of them.
Json packs_of(const SimulationManifest& suite) {
  const SimulationRecord& first = suite.simulations.front();
  Json redshifts = Json::array();
  for (const SimulationOutput& output : first.outputs) redshifts.push_back(output.redshift);
  return {{"universes", suite.simulations.size()},
          {"universes_each", suite.pack},
          {"table", kUniverseTableName},
          {"redshifts", redshifts},
          {"counts", !first.outputs.front().counts.empty()},
          {"power_spectrum", !first.power_spectrum.empty()}};
}

/// Reads the universes of a suite of packs from their table.
void read_packed(const Json& packs, const std::filesystem::path& directory, SimulationManifest& suite) {
  const std::string source = (directory / kManifestName).string();
  const std::string table = packs.at("table");
  const FileRecord* record = suite.base.find(table);
  suite.pack = packs.at("universes_each");
  ensure(record != nullptr && suite.pack > 0, Fault::format,
         "{} lists no table of its universes, or no universe in its packs: run cosmo-sim again with --force.",
         source);
  suite.simulations = read_checked(directory, *record, &read_universe_table);
  ensure(suite.simulations.size() == packs.at("universes").get<std::size_t>(), Fault::format,
         "{} has {} universes and {} another number: run cosmo-sim again with --force.",
         (directory / table).string(), suite.simulations.size(), source);
  const std::string saved = "saved";  // replaced by the path of the pack
  for (SimulationRecord& universe : suite.simulations) {
    for (const double redshift : packs.at("redshifts").get<std::vector<double>>())
      universe.outputs.push_back({redshift, packs.at("counts").get<bool>() ? saved : "", ""});
    if (packs.at("power_spectrum").get<bool>()) universe.power_spectrum = saved;
    universe.pack(static_cast<std::size_t>(suite.pack));
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
  for (const SimulationOutput& output : outputs) paths.push_back(output.velocity);
  for (const SimulationOutput& output : outputs) paths.push_back(output.web);
  for (const std::string& file : {initial, power_spectrum, correlation_function, bispectrum})
    paths.push_back(file);
  std::erase(paths, "");
  if (row) paths.resize(1);  // all are the pack
  return paths;
}

void SimulationRecord::pack(std::size_t size) {
  row = index % size;
  const std::string path = pack_name(index / size);
  for (SimulationOutput& output : outputs) {
    if (!output.counts.empty()) output.counts = path;
  }
  if (!power_spectrum.empty()) power_spectrum = path;
}

const std::string& SimulationRecord::counts(double redshift) const {
  const auto found = std::find_if(outputs.begin(), outputs.end(), [&](const SimulationOutput& output) {
    return output.redshift == redshift && !output.counts.empty();
  });
  if (found != outputs.end()) return found->counts;
  std::vector<double> others;
  for (const SimulationOutput& output : outputs)
    if (!output.counts.empty()) others.push_back(output.redshift);
  throw Error(
      Fault::config,
      fmt::format(
          "Simulation {} of the suite has no counts at z = {}: {}run cosmo-sim with --save counts and "
          "{} among --redshifts, or cosmo-prep histogram with a snapshot of that redshift.",
          index, redshift,
          others.empty()
              ? ""
              : fmt::format("give --redshifts {} for those that it has, or ", fmt::join(others, ",")),
          redshift));
}

std::string counts_name(double redshift) { return fmt::format("counts_z{}.h5", redshift); }
std::string snapshot_name(double redshift) { return fmt::format("snapshot_z{}.hdf5", redshift); }
std::string velocity_name(double redshift) { return fmt::format("velocity_z{}.h5", redshift); }
std::string web_name(double redshift) { return fmt::format("web_z{}.h5", redshift); }
std::string pack_name(std::size_t pack) { return fmt::format("packs/pack-{:05}.h5", pack); }

Json SimulationManifest::details() const {
  Json details = {{"parameters", parameters}, {"grid", grid}};
  if (pack > 0) {
    details["packs"] = packs_of(*this);
  } else {
    Json& list = details["simulations"] = Json::array();
    for (const SimulationRecord& record : simulations) list.push_back(to_object(record));
  }
  write_length(details, "box", box_size);
  if (!line_of_sight.empty()) details[kLineOfSightKey] = line_of_sight;
  if (twins > 1) details["twins"] = twins;
  if (seeds_assumed) details["seeds_assumed"] = true;
  write_facts(details, facts);
  return details;
}

Foreseen SimulationManifest::foreseen() const {
  Foreseen foreseen{{}, details()};
  if (pack > 0) {
    foreseen.texts[kUniverseTableName] = [this] { return universe_table(simulations); };
  } else {
    foreseen.earlier = {&without_facts, &without_outputs};
  }
  for (const SimulationRecord& record : simulations) {
    if (record.row.value_or(0) > 0) continue;  // the pack is listed already
    for (std::string& file : record.files()) foreseen.files.push_back(std::move(file));
  }
  return foreseen;
}

SimulationManifest parse_simulation_manifest(Manifest base, const std::filesystem::path& directory) {
  const std::string source = (directory / kManifestName).string();
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
    suite.seeds_assumed = json.value("seeds_assumed", false);
    if (json.contains("packs")) {
      read_packed(json["packs"], directory, suite);
    } else {
      for (const Json& item : json.at("simulations")) suite.simulations.push_back(to_record(item, source));
    }
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
  return parse_simulation_manifest(load_manifest(directory, "generate"), directory);
}

}  // namespace cosmo::core
