#include "core/registry.hpp"

#include <gtest/gtest.h>

#include <iterator>

#include "support/line_of.hpp"

namespace fedsinkhorn {
namespace {

struct Entry {
  std::string_view name;
  std::string_view missing;
  int number = 0;
};

Registry<Entry> animals() { return {{"cat", "", 1}, {"dog", "built without dogs", 2}}; }

TEST(Registry, FindsByName) {
  const Registry<Entry> registry = animals();
  EXPECT_EQ(registry.find("cat", "--animal").number, 1);
  EXPECT_EQ(registry.find("dog", "--animal").number, 2) << "be it in this build or not";
}

TEST(Registry, NamesAllItKnowsWhenItDoesNotKnow) {
  const std::string line = test::line_of<InputError>([] { (void)animals().find("cow", "--animal"); });
  for (const char* word : {"--animal", "'cow'", "cat, dog"}) EXPECT_NE(line.find(word), std::string::npos) << line;
  EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  EXPECT_NE(test::line_of<InputError>([] { (void)animals().find("", "--animal"); }).find("unknown name ''"),
            std::string::npos);
}

TEST(Registry, SaysWhyAnEntryIsNotInThisBuild) {
  const Registry<Entry> registry = animals();
  EXPECT_EQ(registry.find_available("cat", "--animal", "take a cat").number, 1);
  const std::string line =
      test::line_of<InputError>([&] { (void)registry.find_available("dog", "--animal", "take a cat"); });
  for (const char* word : {"--animal", "'dog'", "built without dogs", "take a cat"}) {
    EXPECT_NE(line.find(word), std::string::npos) << line;
  }
}

TEST(Registry, WhatIsAddedIsFoundAndMovesNothing) {
  Registry<Entry> registry = animals();
  const Entry& cat = registry.find("cat", "--animal");
  static constexpr std::string_view kName = "cow";
  for (int k = 0; k < 1000; ++k) registry.add({kName, "", 3 + k});
  EXPECT_EQ(&registry.find("cat", "--animal"), &cat);
  EXPECT_EQ(registry.find("cow", "--animal").number, 3) << "the first of that name";
  EXPECT_EQ(std::distance(registry.begin(), registry.end()), 1002);
}

}  // namespace
}  // namespace fedsinkhorn
