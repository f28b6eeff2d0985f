// The limit on vector instructions: what is named is used, nothing better, by every library that dispatches.
#include "control/vector_targets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/control/vector_targets_test.cpp"
#include <hwy/foreach_target.h>  // before highway.h: includes this file again for each target
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace trama {
namespace HWY_NAMESPACE {
namespace {

int64_t compiled_for() { return HWY_TARGET; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace trama
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trama {
namespace {

HWY_EXPORT(compiled_for);

std::string used_by_a_kernel() {
  std::string name = hwy::TargetName(HWY_DYNAMIC_DISPATCH(compiled_for)());
  for (char& letter : name) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return name;
}

using testing::ElementsAreArray;
using testing::HasSubstr;

class VectorTargets : public testing::Test {
 protected:
  void TearDown() override {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    unsetenv(kVectorVariable);
  }
  const std::vector<std::string> all_ = usable_vector_targets();
};

TEST_F(VectorTargets, KernelsTakeTheOneThatIsNamed) {
  ASSERT_FALSE(all_.empty());
  EXPECT_EQ(used_by_a_kernel(), all_.front());
  for (auto name = all_.begin(); name != all_.end(); ++name) {
    ASSERT_TRUE(limit_vector_targets(*name).has_value()) << *name;
    EXPECT_EQ(used_by_a_kernel(), *name);
    EXPECT_THAT(usable_vector_targets(), ElementsAreArray(name, all_.end()));
    EXPECT_EQ(used_by_a_kernel(), *name) << "after somebody has asked what there is";
  }
}

TEST_F(VectorTargets, CapitalsDontCount) {
  std::string name = all_.back();
  name[0] = static_cast<char>(name[0] - 'a' + 'A');
  EXPECT_TRUE(limit_vector_targets(name).has_value());
  EXPECT_EQ(usable_vector_targets().front(), all_.back());
}

TEST_F(VectorTargets, AnUnknownNameIsRefusedWithTheList) {
  for (const char* name : {"avx1024", "", "sse4 ", "auto"}) {
    const auto refused = limit_vector_targets(name);
    ASSERT_FALSE(refused.has_value()) << name;
    EXPECT_THAT(refused.error().text, HasSubstr("`" + std::string(name) + "`"));
    EXPECT_THAT(refused.error().hint, HasSubstr(all_.back()));
    EXPECT_EQ(usable_vector_targets(), all_);
  }
}

TEST_F(VectorTargets, TheVariableIsReadWhereItSaysSomething) {
  EXPECT_TRUE(limit_vector_targets_by_environment().has_value());
  setenv(kVectorVariable, "", 1);
  EXPECT_TRUE(limit_vector_targets_by_environment().has_value());
  EXPECT_EQ(usable_vector_targets(), all_);
  setenv(kVectorVariable, all_.back().c_str(), 1);
  EXPECT_TRUE(limit_vector_targets_by_environment().has_value());
  EXPECT_EQ(usable_vector_targets().front(), all_.back());
  setenv(kVectorVariable, "mmx", 1);
  EXPECT_FALSE(limit_vector_targets_by_environment().has_value());
}

}  // namespace
}  // namespace trama
#endif
