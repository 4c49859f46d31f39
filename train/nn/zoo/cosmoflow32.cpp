#include "train/nn/zoo/zoo.hpp"

namespace cosmo::nn::zoo {

NetworkSpec cosmoflow32() {
  constexpr double kSlope = 0.01;
  return {"cosmoflow32",
          "voxels",
          {
              {"conv1", {"voxels"}, Convolution{16, 3, 1, 0, kSlope}},  // (16, 30³)
              {"pool1", {"conv1"}, AveragePool{2, 2}},                  // (16, 15³)
              {"conv2", {"pool1"}, Convolution{32, 4, 1, 0, kSlope}},   // (32, 12³)
              {"pool2", {"conv2"}, AveragePool{2, 2}},                  // (32, 6³)
              {"conv3", {"pool2"}, Convolution{64, 3, 1, 0, kSlope}},   // (64, 4³)
              {"conv4", {"conv3"}, Convolution{128, 3, 1, 0, kSlope}},  // (128, 2³)
              {"pool4", {"conv4"}, AveragePool{2, 2}},                  // (128, 1³): the volume's average
              {"dense1", {"pool4"}, Dense{128, kSlope}},
              {"dense2", {"dense1"}, Dense{0}},
          }};
}

}  // namespace cosmo::nn::zoo
