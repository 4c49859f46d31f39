#include "histogram/particles/snapshot_files.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <regex>
#include <string>

#include "core/error.hpp"
#include "core/file/files.hpp"
#include "core/hdf5/hdf5.hpp"
#include "histogram/particles/binary_particles.hpp"
#include "histogram/particles/hdf5_particles.hpp"
#include "histogram/particles/header_names.hpp"
#include "histogram/particles/particle_file.hpp"

namespace cosmo::histogram {

using core::ensure;
using core::Fault;

namespace {

namespace fs = std::filesystem;

/// The name of one of several files, NAME.3.hdf5 or NAME.3: its number, and what is before and after it.
struct Numbered {
  std::string before, number, after;
};
std::optional<Numbered> numbered(const fs::path& path) {
  const std::regex pattern(R"((.*\.)(\d+)(\.h5|\.hdf5|))");
  std::smatch parts;
  const std::string name = path.filename().string();
  if (!std::regex_match(name, parts, pattern)) return std::nullopt;
  return Numbered{parts[1], parts[2], parts[3]};
}

/// Whether a file is a sound one of HDF5 without particles of a snapshot, such as counts or a catalogue.
bool is_other_hdf5(const fs::path& path) {
  if (path.extension() != ".hdf5" && path.extension() != ".h5") return false;
  try {
    const core::hdf5::File file = core::hdf5::File::open(path);
    return !file.has("Header") || HeaderNames(file, path.string()).stating("here").empty();
  } catch (const core::Error&) {
    return false;  // what reads the snapshot will report it
  }
}

bool may_be_snapshot(const fs::directory_entry& entry) {
  if (!entry.is_regular_file()) return false;
  const std::string extension = entry.path().extension().string();
  if (core::is_hidden(entry.path())) return false;
  if (extension == ".hdf5" || extension == ".h5") return true;
  const bool plain = std::all_of(extension.begin() + (extension.empty() ? 0 : 1), extension.end(),
                                 [](unsigned char c) { return std::isdigit(c); });
  return plain && BinaryParticles::is_one(entry.path());
}

/// What to do about a directory that is not a snapshot.
const char* advice_on(const fs::path& directory) {
  const auto has = [&](const char* name) { return fs::exists(directory / name); };
  if (has("Header/attr-v2") || has("attr-v2") || (has("header") && has("000000")))
    return "it is in the Bigfile format, convert it";
  return has(".zgroup") || has("zarr.json") ? "it is a Zarr store, convert it" : "give a snapshot";
}

}  // namespace

fs::path snapshot_file_in(const fs::path& directory) {
  std::map<std::string, std::vector<fs::path>> groups;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (!may_be_snapshot(entry)) continue;
    const auto parts = numbered(entry.path());
    groups[parts ? parts->before + "*" + parts->after : entry.path().filename().string()].push_back(
        entry.path());
  }
  if (groups.size() > 1)
    std::erase_if(groups, [](const auto& group) { return is_other_hdf5(group.second.front()); });
  ensure(!groups.empty(), Fault::io, "{} has no .hdf5 or .h5 file, and no binary one of Gadget: {}.",
         directory.string(), advice_on(directory));
  std::map<std::string, fs::path> snapshots;  // a file of each
  std::vector<std::string> wholes;            // what files may be called that refer to all of a snapshot's
  for (auto& [name, paths] : groups) {
    std::ranges::sort(paths);
    const auto parts = numbered(paths.front());
    if (parts) wholes.push_back(parts->before.substr(0, parts->before.size() - 1) + parts->after);
    if (paths.size() == 1 || ParticleFile::open(paths.front())->header().files > 1)
      snapshots[name] = paths.front();
    else
      for (const fs::path& path : paths) snapshots[path.filename().string()] = path;
  }
  for (const std::string& whole : wholes) {
    if (snapshots.contains(whole) && Hdf5Particles(directory / whole).refers_to_others())
      snapshots.erase(whole);
  }
  std::vector<std::string> names;
  for (const auto& [name, path] : snapshots) names.push_back(name);
  ensure(
      names.size() == 1, Fault::config,
      "{} holds several snapshots, or one in files that are not called NAME.0, NAME.1, … or NAME.0.hdf5, … ({}): give a file of one, or rename them.",
      directory.string(), fmt::join(names, ", "));
  return snapshots.begin()->second;
}

std::vector<fs::path> files_of_snapshot(const fs::path& given, std::uint64_t files) {
  constexpr std::uint64_t kMostFiles = 1 << 20;
  ensure(files > 0 && files <= kMostFiles, Fault::format,
         "{} states that its snapshot has {} files: correct it.", given.string(), files);
  if (files == 1) return {given};
  const auto parts = numbered(given);
  ensure(parts.has_value(), Fault::format,
         "{} is one of {} files and is not called NAME.0.hdf5 or NAME.0: give it the name it had.",
         given.string(), files);
  // Some codes write 000, 001, …
  const std::string first = fmt::format("{}{}{}", parts->before, 0, parts->after);
  const std::size_t width = fs::exists(given.parent_path() / first) ? 1 : parts->number.size();
  std::vector<fs::path> all;
  for (std::uint64_t i = 0; i < files; ++i)
    all.push_back(given.parent_path() / fmt::format("{}{:0{}}{}", parts->before, i, width, parts->after));
  return all;
}

}  // namespace cosmo::histogram
