#include "infer/report/lineage.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "core/file/checksum.hpp"
#include "core/file/file_state.hpp"
#include "core/file/input_file.hpp"

namespace cosmo::infer {

namespace {

namespace fs = std::filesystem;

/// A file's text and what it holds: nothing if it is gone or not JSON.
struct Content {
  std::string text;
  core::Json json;
};

/// Throws Error{io} if the file is there but the disk fails, since a report would lack it for ever.
Content read_if_there(const fs::path& path) {
  try {
    (void)core::ensure_readable(path);
  } catch (const core::Error&) {
    return {};
  }
  try {
    Content content{core::read_json_text(path), {}};
    content.json = core::parse_json_file(content.text, path);
    return content;
  } catch (const core::Error& error) {
    if (error.fault() == core::Fault::io) throw;
    return {};
  }
}

std::optional<core::FileState> state_if_there(const fs::path& path) {
  try {
    return core::state_of(path);
  } catch (const core::Error&) {
    return std::nullopt;
  }
}

Ancestor look_up(const fs::path& output, const core::InputRecord& record) {
  Ancestor ancestor{record, {}, {}};
  const fs::path path = output / record.path;
  if (path.filename() != core::kManifestName) return ancestor;
  const std::optional<core::FileState> before = state_if_there(path);
  auto [text, manifest] = read_if_there(path);
  if (!manifest.is_object() || !manifest.contains("id") || manifest.at("id") != record.id) return ancestor;
  core::Json run = read_if_there(path.parent_path() / "run.json").json;
  if (state_if_there(path) != before) return ancestor;  // run.json may be another output's
  return {record, std::move(manifest), std::move(run), core::sha256(text) == record.sha256};
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
