// Files of options: every kind of value that a tool asks for.
#include "core/run/options.hpp"

#include "tests/faults/fuzz/fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cosmo;
  const std::filesystem::path path = fuzz::file_of(data, size);
  core::Options options;
  options.add("config FILE", std::nullopt, "file of options");
  options.add("box X", "64", "number");
  options.add("omega-m X|LOW:HIGH", "0.3", "range");
  options.add("redshifts Z,...", "0", "numbers");
  options.add("simulations N", "1", "whole number");
  options.add("select I:J", "0:1", "interval");
  options.add("network", "small", "choice", {"small", "large"});
  options.add("seed N", "1", "seed");
  options.add("augment on|off", "on", "switch");
  options.add_flag("force", "flag");
  bool read = false;
  fuzz::read_or_refuse([&] {
    options.parse({"--config", path});
    read = true;
  });
  if (!read) return 0;
  fuzz::read_or_refuse([&] { (void)options.number("box"); });
  fuzz::read_or_refuse([&] { (void)options.range("omega-m"); });
  fuzz::read_or_refuse([&] { (void)options.numbers("redshifts"); });
  fuzz::read_or_refuse([&] { (void)options.integer("simulations", 1, 1000); });
  fuzz::read_or_refuse([&] { (void)options.interval("select", 100); });
  fuzz::read_or_refuse([&] { (void)options.choice("network"); });
  fuzz::read_or_refuse([&] { (void)options.seed("seed"); });
  fuzz::read_or_refuse([&] { (void)options.is_on("augment"); });
  fuzz::read_or_refuse([&] { (void)options.flag("force"); });
  return 0;
}
