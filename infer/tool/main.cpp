#include "infer/tool/cosmo_infer.hpp"

int main(int argc, char** argv) {
  return cosmo::core::run_tool(argc, argv, cosmo::infer::cosmo_infer_tool());
}
