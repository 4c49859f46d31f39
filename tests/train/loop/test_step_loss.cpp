#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "tests/dataset/small_dataset.hpp"
#include "train/gradient/step_loss.hpp"

using namespace cosmo;

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

nn::Network small_network() {
  return nn::Network({"small", "voxels", {{"dense", {"voxels"}, nn::Dense{2}}}}, {1, 4}, 2, 3,
                     nn::Mode::training);
}

/// The sentence with which a step is refused, the same on every rank.
std::string refusal(const core::Communicator& comm, const train::StepLoss& loss, nn::Network& network) {
  try {
    loss.fail(comm, network, 7);
  } catch (const core::Error& error) {
    CHECK(error.fault() == core::Fault::numeric);
    CHECK(error.agreed());
    for (const std::string& other : comm.gather(error.what())) CHECK(other == error.what());
    return error.what();
  }
}

}  // namespace

TEST_CASE("all ranks adopt the wish that one of them has after a step") {
  const core::Communicator comm = core::Communicator::world();
  const bool is_last = comm.rank() == comm.size() - 1;
  const train::Agreement found =
      train::agree(comm, std::vector{0.25, 0.25}, {false, is_last, comm.is_root()});
  CHECK(found.loss == 0.5 * comm.size());
  CHECK_FALSE(found.votes.stop);
  CHECK(found.votes.time_is_up);
  CHECK(found.votes.save);
}

TEST_CASE("a loss that is not finite names the first sample, its universe and its shard") {
  const core::Communicator comm = core::Communicator::world();
  const TemporaryDirectory directory;
  const auto data = dataset::test::write_dataset(directory.path(), 12);
  const dataset::SplitReader reader(directory.path(), data, dataset::Split::train);
  nn::Network network = small_network();
  const std::vector<std::uint32_t> samples = {8, 3, 11};
  const std::vector<float> targets(6, 0.0f);
  const dataset::Batch batch{{}, targets, 3, samples, 3, true};
  train::StepLoss loss(reader, 3);
  loss.add(batch, std::vector<float>{0, 0, 0, 0, 0, 0}, 0.25);
  CHECK(loss.losses().back() == 0.25);
  if (comm.rank() == comm.size() - 1) {
    loss.add(batch, std::vector<float>{0, 0, 0, kNaN, 1, kNaN}, std::nan(""));
    loss.add(batch, std::vector<float>{kNaN, 0, 0, 0, 0, 0}, std::nan(""));
  }
  const std::string sentence = refusal(comm, loss, network);
  CHECK(sentence.find(
            "loss of step 8 is not finite, first for sample 3 (simulation 3, sub-volume 0; row 3 of ") !=
        std::string::npos);
  CHECK(sentence.find("train/shard-00000.h5)") != std::string::npos);

  loss.reset();
  CHECK(loss.losses().empty());
  const std::vector<float> damaged{0, 0, 0, 0, 0, kNaN};
  loss.add({{}, damaged, 3, samples, 3, true}, std::vector<float>(6, 0.0f), std::nan(""));
  CHECK(refusal(comm, loss, network).find("first for sample 11 ") != std::string::npos);
  loss.reset();
  network.weights()[0] = kNaN;
  CHECK(refusal(comm, loss, network).find("The weights are no longer finite after step 7:") == 0);
}
