// Runs a fuzz target without libFuzzer: on every file of a directory, and on copies that are damaged by
// chance, the same in every run. Usage: TARGET COPIES DIRECTORY
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "core/file/byte_file.hpp"
#include "tests/faults/fuzz/fuzz.hpp"

namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

constexpr std::array<std::uint64_t, 12> kNumbers = {
    0, 1, 2, 127, 255, 65535, 65536, 0x7fffffff, 0x80000000u, 0xffffffffu, 1ull << 53, ~0ull};
constexpr std::array<std::string_view, 14> kTexts = {
    "0",          "-1", "1e999", "1e300", "nan", "null", "[]", "{}", "\"", ",", "\n", "9223372036854775808",
    "2147483647", "#"};

/// Damages bytes in one of seven ways.
class Damage {
 public:
  void operator()(Bytes& bytes) {
    const std::size_t at = below(bytes.size() + 1), length = std::min(below(16) + 1, bytes.size() - at);
    const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    switch (below(7)) {
      case 0:
        if (length > 0) *place ^= std::byte{1} << below(8);
        break;
      case 1:
        if (length > 0) *place = static_cast<std::byte>(below(256));
        break;
      case 2:
        overwrite(bytes, at, kNumbers[below(kNumbers.size())]);
        break;
      case 3:
        bytes.erase(place, place + static_cast<std::ptrdiff_t>(length));
        break;
      case 4: {
        const Bytes piece(place, place + static_cast<std::ptrdiff_t>(length));
        const std::size_t to = below(bytes.size() + 1);
        bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(to), piece.begin(), piece.end());
        break;
      }
      case 5: {
        const auto text = std::as_bytes(std::span(kTexts[below(kTexts.size())]));
        bytes.insert(place, text.begin(), text.end());
        break;
      }
      default:
        bytes.resize(at);
    }
  }
  std::size_t below(std::size_t limit) { return chance_() % limit; }

 private:
  /// Puts the lowest bytes of a number there, little-endian.
  void overwrite(Bytes& bytes, std::size_t at, std::uint64_t number) {
    const std::size_t end = std::min(bytes.size(), at + (std::size_t{1} << below(4)));
    for (; at < end; ++at, number >>= 8) bytes[at] = static_cast<std::byte>(number & 0xff);
  }

  std::mt19937_64 chance_{1};
};

void run(const Bytes& bytes) {
  (void)LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(argv[2])) files.push_back(entry.path());
  if (files.empty()) return 1;
  std::ranges::sort(files);
  std::vector<Bytes> seeds;
  for (const fs::path& file : files) {
    seeds.push_back(cosmo::core::read_bytes(file));
    run(seeds.back());
  }
  Damage damage;
  const int copies = std::stoi(argv[1]);
  for (int i = 0; i < copies; ++i) {
    Bytes bytes = seeds[static_cast<std::size_t>(i) % seeds.size()];
    for (std::size_t times = 1 + damage.below(4); times > 0; --times) damage(bytes);
    run(bytes);
  }
  fmt::print("{} files and {} damaged copies\n", seeds.size(), copies);
}
