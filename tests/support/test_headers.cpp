// Nothing but a place for the headers that all tests share, precompiled (tests/CMakeLists.txt).
#include <gtest/gtest.h>

int main() {}
