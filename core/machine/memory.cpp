#include "core/machine/memory.hpp"

#include <malloc.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

namespace cosmo::core {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();

/// The number after `key` at the start of a line such as "MemAvailable:  123 kB" or "inactive_file 123".
std::optional<std::uint64_t> number_after(const fs::path& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::uint64_t value = 0;
    if (words >> name >> value && name == key) return value;
  }
  return std::nullopt;
}

/// The file's only number; nothing for "max".
std::optional<std::uint64_t> number_in(const fs::path& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? std::optional(value) : std::nullopt;
}

/// File and key names of one version of control groups.
struct Dialect {
  const char* limit;
  const char* usage;
  const char* cache;  ///< in memory.stat
};
constexpr Dialect kVersion1 = {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
constexpr Dialect kVersion2 = {"memory.max", "memory.current", "inactive_file"};

std::uint64_t room_in(const fs::path& group, const Dialect& dialect) {
  const auto limit = number_in(group / dialect.limit), usage = number_in(group / dialect.usage);
  if (!limit || !usage) return kUnknown;
  const std::uint64_t cache = number_after(group / "memory.stat", dialect.cache).value_or(0);
  const std::uint64_t used = *usage - std::min(*usage, cache);
  return *limit - std::min(*limit, used);
}

/// The least memory that a control group and its ancestors leave. A container may see its own group as `top`,
/// under another name than /proc/self/cgroup reports.
std::uint64_t room_up_from(const fs::path& top, const std::string& name, const Dialect& dialect) {
  std::uint64_t least = room_in(top, dialect);
  for (fs::path group = fs::path(name).relative_path(); !group.empty(); group = group.parent_path()) {
    least = std::min(least, room_in(top / group, dialect));
  }
  return least;
}

std::uint64_t room_of_control_groups(const fs::path& root) {
  std::uint64_t least = kUnknown;
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // "4:memory:/name", or "0::/name" for version 2
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1),
                      name = line.substr(second + 1);
    if (controllers.empty()) {
      least = std::min(least, room_up_from(root / "sys/fs/cgroup", name, kVersion2));
    } else if (("," + controllers + ",").find(",memory,") != std::string::npos) {
      least = std::min(least, room_up_from(root / "sys/fs/cgroup/memory", name, kVersion1));
    }
  }
  return least;
}

std::uint64_t kilobytes(const fs::path& path, std::string_view key, std::uint64_t otherwise) {
  const auto found = number_after(path, key);
  return found ? *found * 1024 : otherwise;
}

}  // namespace

std::uint64_t available_memory(const fs::path& root) {
  return std::min(kilobytes(root / "proc/meminfo", "MemAvailable:", kUnknown), room_of_control_groups(root));
}

std::uint64_t resident_memory(const fs::path& root) {
  return kilobytes(root / "proc/self/status", "VmRSS:", 0);
}

std::uint64_t peak_resident_memory(const fs::path& root) {
  return kilobytes(root / "proc/self/status", "VmHWM:", 0);
}

void give_back_large_blocks() { ::mallopt(M_MMAP_THRESHOLD, 1 << 20); }

}  // namespace cosmo::core
