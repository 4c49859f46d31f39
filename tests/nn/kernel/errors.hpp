#pragma once
// How far computed values are from exact ones.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <span>

namespace cosmo::test {

/// Errors of some values of a tensor, relative to the rms of all its values.
class Errors {
 public:
  explicit Errors(std::span<const float> all) {
    for (const float value : all) scale_ += static_cast<double>(value) * static_cast<double>(value);
    scale_ = std::sqrt(scale_ / static_cast<double>(all.size()));
  }
  void add(double found, double exact) {
    squares_ += (found - exact) * (found - exact);
    largest_ = std::max(largest_, std::abs(found - exact));
    ++count_;
  }
  double rms() const { return std::sqrt(squares_ / count_) / scale_; }
  double largest() const { return largest_ / scale_; }
  void check(const char* name) const {
    INFO(name << ": rms " << rms() << ", largest " << largest());
    CHECK(count_ > 20);
    CHECK(rms() < 2.5e-6);
    CHECK(largest() < 3e-5);
  }

 private:
  double scale_ = 0, squares_ = 0, largest_ = 0;
  int count_ = 0;
};

}  // namespace cosmo::test
