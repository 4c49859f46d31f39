// Are initialisers of known values stored as written? GCC 12.0 to 12.3 repeats the lower half of a constant of 32 or
// 64 bytes whose upper half is zero when it compiles for AVX-512 (bug 108599): {1, 1, 1, 1, 0, 0, 0, 0} becomes eight
// ones. Exit 0: all are right; 1: some are wrong, each named on standard error.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

/// As many values as indices, the first half 7, the second 0. The optimiser must not know its callers (noipa): of
/// a function that runs once it makes small code instead of storing whole vectors.
template <class T, std::size_t... index>
[[gnu::noipa]] std::vector<T> half_sevens(std::index_sequence<index...>) {
  return {(index < sizeof...(index) / 2 ? T{7} : T{0})...};
}

namespace {

/// 0 if an initialiser of this size holds what was written, else 1 and a line on standard error.
template <class T, std::size_t bytes>
int check(const char* type) {
  constexpr std::size_t count = bytes / sizeof(T);
  const std::vector<T> values = half_sevens<T>(std::make_index_sequence<count>());
  for (std::size_t i = 0; i < count; ++i) {
    if (values[i] == (i < count / 2 ? T{7} : T{0})) continue;
    std::fprintf(stderr, "%s, %zu bytes: value %zu is wrong\n", type, bytes, i);
    return 1;
  }
  return 0;
}

}  // namespace

int main() {
  return check<char, 32>("char") | check<char, 64>("char") | check<int, 32>("int") | check<int, 64>("int") |
         check<std::int64_t, 32>("int64") | check<std::int64_t, 64>("int64") | check<float, 32>("float") |
         check<float, 64>("float") | check<double, 32>("double") | check<double, 64>("double");
}
