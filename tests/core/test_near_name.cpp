#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "core/near_name.hpp"

using namespace cosmo;

TEST_CASE("a misspelt name finds the one that was meant") {
  const std::vector<std::string> names = {"epochs",        "omega-m", "sigma8", "n-s",
                                          "choice-epochs", "rate",    "date"};
  const auto near = [&](const char* word) { return core::near_name(word, names).value_or(""); };
  CHECK(near("--epoch") == "epochs");
  CHECK(near("epcohs") == "epochs");
  CHECK(near("omega_m") == "omega-m");
  CHECK(near("Omega_m") == "omega-m");
  CHECK(near("\"sigma_8\"") == "sigma8");
  CHECK(near("ns") == "n-s");
  CHECK(near("gate").empty());           // rate or date
  CHECK(near("ce") == "choice-epochs");  // its initials
  CHECK(near("h").empty());              // one letter would be replaced by another name
  CHECK(near("").empty());
  CHECK(near(std::string(1000, 'e').c_str()).empty());
}
