#include "infer/report/lineage.hpp"

#include <algorithm>
#include <deque>

#include "core/error.hpp"
#include "core/file/checksum.hpp"
#include "core/file/input_file.hpp"

namespace cosmo::infer {

namespace {

namespace fs = std::filesystem;

/// The content of the file; null if it is gone or not JSON. Throws Error{io} if it is there but the disk
/// fails, since a report would lack it for ever.
core::Json read_if_there(const fs::path& path) {
  try {
    (void)core::ensure_readable(path);
  } catch (const core::Error&) {
    return {};
  }
  try {
    return core::read_json(path);
  } catch (const core::Error& error) {
    if (error.fault() == core::Fault::io) throw;
    return {};
  }
}

Ancestor look_up(const fs::path& output, const core::InputRecord& record) {
  Ancestor ancestor{record, {}, {}};
  const fs::path path = output / record.path;
  if (path.filename() != core::kManifestName) return ancestor;
  core::Json manifest = read_if_there(path);
  if (!manifest.is_object()) return ancestor;
  ancestor.unchanged = core::sha256_of_file(path) == record.sha256;
  if (manifest.contains("id") && manifest.at("id") == record.id) ancestor.manifest = std::move(manifest);
  if (!ancestor.manifest.is_null()) ancestor.run = read_if_there(path.parent_path() / "run.json");
  return ancestor;
}

}  // namespace

std::string Ancestor::stage() const {
  return manifest.is_object() && manifest.contains("stage") && manifest.at("stage").is_string()
             ? manifest.at("stage").get<std::string>()
             : "";
}

std::vector<Ancestor> trace(const fs::path& output, const std::vector<core::InputRecord>& inputs) {
  std::vector<Ancestor> ancestors;
  std::deque<core::InputRecord> left(inputs.begin(), inputs.end());
  while (!left.empty()) {
    const core::InputRecord record = left.front();
    left.pop_front();
    const bool known = std::ranges::any_of(
        ancestors, [&](const Ancestor& ancestor) { return ancestor.record.id == record.id; });
    if (known) continue;
    const Ancestor& ancestor = ancestors.emplace_back(look_up(output, record));
    if (!ancestor.manifest.is_object() || !ancestor.manifest.contains("inputs")) continue;
    try {
      for (core::InputRecord input : ancestor.manifest.at("inputs").get<std::vector<core::InputRecord>>()) {
        input.path = (fs::path(record.path).parent_path() / input.path).lexically_normal().string();
        left.push_back(input);
      }
    } catch (const core::Json::exception&) {  // an altered manifest names no further inputs
    }
  }
  return ancestors;
}

}  // namespace cosmo::infer
