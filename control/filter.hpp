// Parts of `trama filter`: each takes what stands behind its own name and returns the exit status.
#pragma once
#include "control/command_line.hpp"
#include "ebpf/error.hpp"

namespace trama {

int filter_check(const Arguments& arguments);
int filter_run(const Arguments& arguments);
int filter_disassemble(const Arguments& arguments);
int filter_new(const Arguments& arguments);

// As an error on stderr.
void print(const ebpf::Refusal& refusal);

}  // namespace trama
