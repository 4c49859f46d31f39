// Manifests of a suite, a dataset and a model, with ids that agree.
#include "core/output/manifest.hpp"

#include "core/universe/simulation_manifest.hpp"
#include "dataset/shard/dataset_manifest.hpp"
#include "nn/model/model_manifest.hpp"
#include "tests/faults/fuzz/fuzz.hpp"

namespace {

using namespace cosmo;

/// The JSON with the id that its content has, if it is a manifest.
core::Json mended(core::Json json) {
  try {
    const core::Request request{json.at("stage"), json.at("config"), json.at("inputs")};
    json["id"] = request.id();
  } catch (const core::Json::exception&) {
  }
  return json;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::filesystem::path path = fuzz::file_of(data, size);
  core::Json json;
  fuzz::read_or_refuse([&] { json = mended(core::read_json(path)); });
  const auto parse = [&](const char* stage) { return core::parse_manifest(json, path, stage); };
  fuzz::read_or_refuse(
      [&] { (void)core::parse_simulation_manifest(parse("generate"), path.parent_path()).foreseen(); });
  fuzz::read_or_refuse([&] { (void)dataset::parse_dataset_manifest(parse("shard"), path).details(); });
  fuzz::read_or_refuse([&] { (void)nn::parse_model_manifest(parse("train"), path).details(); });
  return 0;
}
