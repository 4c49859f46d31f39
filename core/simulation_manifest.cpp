#include "core/simulation_manifest.hpp"

#include "core/error.hpp"

namespace cosmo::core {

namespace {

Json to_object(const Cosmology& cosmology) {
  Json object;
  for (const CosmologyParameter& row : kCosmologyParameters)
    object[std::string(row.name)] = cosmology.*row.member;
  return object;
}

Cosmology to_cosmology(const Json& object) {
  Cosmology cosmology;
  for (const CosmologyParameter& row : kCosmologyParameters) {
    cosmology.*row.member = object.value(std::string(row.name), cosmology.*row.member);
  }
  return cosmology;
}

}  // namespace

void to_json(Json& json, const ParameterSpace& space) {
  json = {{"names", space.names}, {"low", space.low}, {"high", space.high}};
}

void from_json(const Json& json, ParameterSpace& space) {
  space = {json.at("names"), json.at("low"), json.at("high")};
  ensure(space.low.size() == space.size() && space.high.size() == space.size(), Fault::format,
         "The parameters' names and limits differ in number: run the stage again with --force.");
}

Json SimulationManifest::details() const {
  Json list = Json::array();
  for (const SimulationRecord& record : simulations) {
    list.push_back({{"index", record.index},
                    {"seed", record.seed},
                    {"parameters", to_object(record.cosmology)},
                    {"files", {record.counts}},
                    {"redshifts", {0}}});
  }
  Json details = {{"parameters", parameters}, {"grid", grid}, {"simulations", list}};
  write_length(details, "box", box_size);
  return details;
}

SimulationManifest load_simulation_manifest(const std::filesystem::path& directory) {
  SimulationManifest suite;
  suite.base = load_manifest(directory, "generate");
  const std::string source = (directory / kManifestName).string();
  const Json& json = suite.base.details;
  reading_json(source, [&] {
    suite.parameters = json.at("parameters");
    suite.box_size = read_length(json, "box");
    suite.grid = json.at("grid");
    for (const Json& item : json.at("simulations")) {
      suite.simulations.push_back(
          {item.at("index"), item.at("seed"), to_cosmology(item.at("parameters")), item.at("files").at(0)});
    }
  });
  for (const SimulationRecord& record : suite.simulations) {
    ensure(suite.base.find(record.counts) != nullptr, Fault::format,
           "{} lists no file {} of simulation {}: run cosmo-sim again with --force.", source, record.counts,
           record.index);
  }
  return suite;
}

}  // namespace cosmo::core
