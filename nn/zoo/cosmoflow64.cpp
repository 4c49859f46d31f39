#include "nn/zoo/zoo.hpp"

namespace cosmo::nn::zoo {

NetworkSpec cosmoflow64() {
  constexpr double kSlope = 0.01;
  return {"cosmoflow64",
          "voxels",
          {
              {"conv1", {"voxels"}, Convolution{16, 3, 1, 0, kSlope}},  // (16, 62³)
              {"pool1", {"conv1"}, AveragePool{2, 2}},                  // (16, 31³)
              {"conv2", {"pool1"}, Convolution{32, 4, 1, 0, kSlope}},   // (32, 28³)
              {"pool2", {"conv2"}, AveragePool{2, 2}},                  // (32, 14³)
              {"conv3", {"pool2"}, Convolution{64, 4, 2, 0, kSlope}},   // (64, 6³)
              {"conv4", {"conv3"}, Convolution{64, 3, 1, 0, kSlope}},   // (64, 4³)
              {"conv5", {"conv4"}, Convolution{128, 2, 1, 0, kSlope}},  // (128, 3³)
              {"conv6", {"conv5"}, Convolution{128, 2, 1, 0, kSlope}},  // (128, 2³)
              {"dense1", {"conv6"}, Dense{1024, kSlope}},
              {"dense2", {"dense1"}, Dense{256, kSlope}},
              {"dense3", {"dense2"}, Dense{0}},
          }};
}

}  // namespace cosmo::nn::zoo
