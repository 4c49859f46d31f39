// What a parameter may be called, wherever its name is read.
#include <catch2/catch.hpp>

#include "core/universe/universe.hpp"
#include "tests/support/expect_error.hpp"

using namespace cosmo::core;

TEST_CASE("names of parameters are words that columns and options can have") {
  for (const char* name : {"omega_m", "A_SN1", "_x", "h"}) CHECK(is_parameter_name(name));
  for (const char* name : {"", "a,b", "a b", "1a", "a\x1b[2J", "a=b", "a/b", "\"a\"", "\xce\xa9"}) CHECK_FALSE(is_parameter_name(name));
  CHECK(is_parameter_name(std::string(64, 'a')));
  CHECK_FALSE(is_parameter_name(std::string(65, 'a')));
  const auto read = [](const char* name) {
    return Json({{"names", {name}}, {"low", {0.0}}, {"high", {1.0}}}).get<ParameterSpace>();
  };
  CHECK(read("omega_m").names.front() == "omega_m");
  expect_error(Fault::format, "called 'a,b'", [&] { (void)read("a,b"); });
  expect_error(Fault::format, "called '\\x1b", [&] { (void)read("\x1b[2J"); });
}
