#include <dlfcn.h>
#include <omp.h>

#include <catch2/catch.hpp>
#include <string>

namespace {

/// The library whose function of this name this process calls.
std::string library_of(const char* name) {
  Dl_info where{};
  REQUIRE(dladdr(dlsym(RTLD_DEFAULT, name), &where) != 0);
  return where.dli_fname;
}

}  // namespace

// Debian's oneDNN starts threads by GCC's GOMP_parallel, also in a process whose other threads are those of Clang's libomp. libomp has
// that function, too, and comes first; else two pools would take each other's cores.
TEST_CASE("oneDNN's threads are those of our own loops") {
  CHECK(library_of("GOMP_parallel") == library_of("omp_get_max_threads"));
#ifdef __clang__
  CHECK(library_of("__kmpc_fork_call") == library_of("GOMP_parallel"));
#endif
}
