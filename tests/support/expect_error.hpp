#pragma once

#include <catch2/catch.hpp>
#include <functional>
#include <string>

#include "core/error.hpp"

/// Checks that `step` throws an Error of this fault whose sentence contains `part`.
inline void expect_error(cosmo::core::Fault fault, const std::string& part,
                         const std::function<void()>& step) {
  try {
    step();
    FAIL("no error was thrown, one about '" << part << "' was expected");
  } catch (const cosmo::core::Error& error) {
    CHECK(error.fault() == fault);
    CHECK_THAT(error.what(), Catch::Contains(part));
  }
}
