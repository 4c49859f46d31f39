#include "dataset/quantity/curve.hpp"

#include <limits>

namespace cosmo::dataset {

double limit_of(Curve curve) {
  switch (curve) {
    case Curve::log1p:
      return -1;
    case Curve::log:
      return 0;
    case Curve::none:
      break;
  }
  return -std::numeric_limits<double>::infinity();
}

std::string_view domain_of(Curve curve) {
  switch (curve) {
    case Curve::log1p:
      return "values above -1";
    case Curve::log:
      return "positive values";
    case Curve::none:
      break;
  }
  return "any values";
}

}  // namespace cosmo::dataset
