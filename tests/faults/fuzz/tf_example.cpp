// tf.train.Example: the message alone.
#include "dataset/exchange/tf_example.hpp"

#include "tests/faults/fuzz/fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cosmo;
  fuzz::read_or_refuse([&] { (void)dataset::decode_example(std::as_bytes(std::span(data, size)), "fuzz"); });
  return 0;
}
