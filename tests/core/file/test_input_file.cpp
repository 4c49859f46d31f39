#include <sys/resource.h>

#include <catch2/catch.hpp>

#include "core/file/input_file.hpp"
#include "core/file/text_file.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace cosmo::core;

TEST_CASE("a file that cannot be opened is refused with the system's reason and what helps") {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "a.txt";
  write_text(path, "text");
  // Both before: a sanitizer that meets a type for the first time opens a pipe.
  CHECK(open_input(path).good());
  expect_error(Fault::io, "none.txt does not exist",
               [&] { (void)open_input(directory.path() / "none.txt"); });
  rlimit files{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &files) == 0);
  const rlimit none{0, files.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  expect_error(Fault::io, "a.txt cannot be opened (Too many open files): raise the limit",
               [&] { (void)open_input(path); });
  REQUIRE(setrlimit(RLIMIT_NOFILE, &files) == 0);
  CHECK(read_text(path, 100) == "text");
}
