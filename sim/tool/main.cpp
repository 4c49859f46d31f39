#include "sim/tool/cosmo_sim.hpp"

int main(int argc, char** argv) { return cosmo::core::run_tool(argc, argv, cosmo::sim::cosmo_sim_tool()); }
