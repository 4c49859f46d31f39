// The default number of samples that a rank works on at once.
#include <catch2/catch.hpp>

#include "train/plan/training_plan.hpp"

using cosmo::train::Batching;

TEST_CASE(
    "a micro-batch is a divisor of the rank's share that fills a volume, or four of networks that "
    "normalise") {
  CHECK(Batching::default_micro_batch(32, 1, {1, 64}, false) == 8);
  CHECK(Batching::default_micro_batch(32, 1, {1, 64}, true) == 32);
  CHECK(Batching::default_micro_batch(32, 1, {1, 32}, true) == 32);
  CHECK(Batching::default_micro_batch(32, 2, {1, 128}, false) == 1);
  CHECK(Batching::default_micro_batch(32, 2, {1, 128}, true) == 4);
  CHECK(Batching::default_micro_batch(12, 2, {4, 64}, true) == 6);
  CHECK(Batching::default_micro_batch(8, 1, {4, 128}, false) == 1);
  CHECK(Batching::default_micro_batch(21, 1, {2, 64}, true) == 7);  // at most 16
}
