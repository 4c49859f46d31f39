#include <catch2/catch.hpp>
#include <fstream>
#include <vector>

#include "core/machine/memory.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace cosmo::core;
namespace fs = std::filesystem;

namespace {

/// A file system root with these files.
void write(const fs::path& root, const std::string& path, const std::string& text) {
  fs::create_directories((root / path).parent_path());
  std::ofstream(root / path) << text;
}

}  // namespace

TEST_CASE("available memory is what the system has, or what a control group leaves") {
  const TemporaryDirectory directory;
  const fs::path& root = directory.path();
  CHECK(available_memory(root) > std::uint64_t{1} << 60);  // no file states it
  write(root, "proc/meminfo", "MemTotal:  9000 kB\nMemFree:  10 kB\nMemAvailable:  4000 kB\n");
  CHECK(available_memory(root) == 4000 * 1024);

  SECTION("version 2, limited one level up, caches counted as free") {
    write(root, "proc/self/cgroup", "0::/job/step\n");
    write(root, "sys/fs/cgroup/job/step/memory.max", "max\n");
    write(root, "sys/fs/cgroup/job/step/memory.current", "500\n");
    write(root, "sys/fs/cgroup/job/memory.max", "1000000\n");
    write(root, "sys/fs/cgroup/job/memory.current", "900000\n");
    write(root, "sys/fs/cgroup/job/memory.stat", "anon 100000\ninactive_file 600000\n");
    CHECK(available_memory(root) == 700000);
  }
  SECTION("version 1, as seen in a container, more used than allowed") {
    write(root, "proc/self/cgroup", "9:cpu:/\n4:hugetlb,memory:/docker/abc\n0::/\n");
    write(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "3000000\n");
    write(root, "sys/fs/cgroup/memory/memory.usage_in_bytes", "1000000\n");
    CHECK(available_memory(root) == 2000000);
    write(root, "sys/fs/cgroup/memory/memory.usage_in_bytes", "3000001\n");
    CHECK(available_memory(root) == 0);
  }
}

TEST_CASE("resident memory follows what a process touches") {
  const std::uint64_t before = resident_memory();
  REQUIRE(before > 100'000);
  CHECK(available_memory() > 0);
  constexpr std::uint64_t kBlock = 64 << 20;
  {
    std::vector<char> block(kBlock, 1);
    char* volatile known = block.data();  // or else Clang allocates nothing, as nothing reads the block
    CHECK(known != nullptr);
    CHECK(resident_memory() > before + kBlock / 2);
  }
  CHECK(peak_resident_memory() > before + kBlock / 2);
}
