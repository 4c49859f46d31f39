#include "nn/zoo/zoo.hpp"

namespace cosmo::nn::zoo {

NetworkSpec mlperf() {
  constexpr double kSlope = 0.3;
  return {"mlperf",
          "voxels",
          {
              {"conv1", {"voxels"}, Convolution{32, 3, 1, 1, kSlope}},  // (32, 128³)
              {"pool1", {"conv1"}, MaxPool{2, 2}},                      // (32, 64³)
              {"conv2", {"pool1"}, Convolution{64, 3, 1, 1, kSlope}},   // (64, 64³)
              {"pool2", {"conv2"}, MaxPool{2, 2}},                      // (64, 32³)
              {"conv3", {"pool2"}, Convolution{128, 3, 1, 1, kSlope}},  // (128, 32³)
              {"pool3", {"conv3"}, MaxPool{2, 2}},                      // (128, 16³)
              {"conv4", {"pool3"}, Convolution{256, 3, 1, 1, kSlope}},  // (256, 16³)
              {"pool4", {"conv4"}, MaxPool{2, 2}},                      // (256, 8³)
              {"conv5", {"pool4"}, Convolution{512, 3, 1, 1, kSlope}},  // (512, 8³)
              {"pool5", {"conv5"}, MaxPool{2, 2}},                      // (512, 4³)
              {"dense1", {"pool5"}, Dense{128, kSlope}},
              {"dropout1", {"dense1"}, Dropout{0.5}},
              {"dense2", {"dropout1"}, Dense{64, kSlope}},
              {"dropout2", {"dense2"}, Dropout{0.5}},
              {"dense3", {"dropout2"}, Dense{0}},
              {"tanh", {"dense3"}, Tanh{1.2}},
          }};
}

}  // namespace cosmo::nn::zoo
