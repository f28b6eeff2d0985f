// The verbs of the command, one file each. Every one takes what stands behind its name and returns the exit status.
#pragma once
#include "control/command_line.hpp"

namespace trama {

int run_verb(const Arguments& arguments);
int check_verb(const Arguments& arguments);
int graph_verb(const Arguments& arguments);
int stages_verb(const Arguments& arguments);
int inspect_verb(const Arguments& arguments);
int export_verb(const Arguments& arguments);
int verify_verb(const Arguments& arguments);
int key_verb(const Arguments& arguments);
int filter_verb(const Arguments& arguments);
int bench_verb(const Arguments& arguments);
int status_verb(const Arguments& arguments);
int top_verb(const Arguments& arguments);
int ctl_verb(const Arguments& arguments);
int subscribe_verb(const Arguments& arguments);
int relay_verb(const Arguments& arguments);
int doctor_verb(const Arguments& arguments);

}  // namespace trama
