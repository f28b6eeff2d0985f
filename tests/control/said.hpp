// What a verb of the command says and how it ends.
#pragma once
#include <gtest/gtest.h>

#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

namespace trama::test {

struct Said {
  int status = 0;
  std::string out, err;

  // Of standard output.
  std::vector<std::string> lines() const {
    std::vector<std::string> all;
    std::istringstream text(out);
    for (std::string line; std::getline(text, line);) all.push_back(line);
    return all;
  }
};

// Calls `verb()`, which returns an exit status, and keeps what it writes to standard output and standard error.
template <class Verb>
Said listen(Verb verb) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Said said;
  said.status = verb();
  std::fflush(stdout);
  said.out = testing::internal::GetCapturedStdout();
  said.err = testing::internal::GetCapturedStderr();
  return said;
}

}  // namespace trama::test
