#include "nn/zoo/zoo.hpp"

namespace cosmo::nn::zoo {

NetworkSpec cosmoflow32() {
  constexpr double kSlope = 0.01;
  return {"cosmoflow32",
          "voxels",
          {
              {"conv1", {"voxels"}, Convolution{16, 3, 2, 0, kSlope}},  // (16, 15³)
              {"conv2", {"conv1"}, Convolution{32, 3, 2, 0, kSlope}},   // (32, 7³)
              {"pool2", {"conv2"}, AveragePool{7, 7}},                  // (32, 1³): the volume's average
              {"dense1", {"pool2"}, Dense{32, kSlope}},
              {"dense2", {"dense1"}, Dense{0}},
          }};
}

}  // namespace cosmo::nn::zoo
