#include <catch2/catch.hpp>
#include <filesystem>
#include <new>
#include <stdexcept>

#include "core/error.hpp"
#include "tests/support/expect_error.hpp"

using namespace cosmo::core;

TEST_CASE("every exception becomes a sentence with an exit code") {
  const auto told = [](const auto& thrown) {
    try {
      throw thrown;
    } catch (...) {
      throw current_error();
    }
  };
  expect_error(Fault::numeric, "too large", [&] { told(Error(Fault::numeric, "too large")); });
  expect_error(Fault::io, "Memory ran out: use more nodes", [&] { told(std::bad_alloc()); });
  const std::filesystem::filesystem_error denied("open", "/some/file",
                                                 std::make_error_code(std::errc::permission_denied));
  expect_error(Fault::io, "/some/file: Permission denied", [&] { told(denied); });
  expect_error(Fault::internal, "a bug", [&] { told(std::logic_error("a bug")); });
}

TEST_CASE("a sentence is one line of UTF-8, whatever it names") {
  CHECK(std::string(Error(Fault::io, "no file a\xff").what()) == "no file a\\xff");
  CHECK(std::string(Error(Fault::io, "no file \xc3\xa9\x1b").what()) == "no file \xc3\xa9\\x1b");
  CHECK(std::string(Error(Fault::io, std::string("a\nb\0c", 5)).what()) == "a\\nb\\x00c");
}
