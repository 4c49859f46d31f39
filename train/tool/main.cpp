#include "train/tool/cosmo_train.hpp"

int main(int argc, char** argv) {
  return cosmo::core::run_tool(argc, argv, cosmo::train::cosmo_train_tool());
}
