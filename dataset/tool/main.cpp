#include "dataset/tool/cosmo_prep.hpp"

int main(int argc, char** argv) {
  return cosmo::core::run_tool(argc, argv, cosmo::dataset::cosmo_prep_tool());
}
