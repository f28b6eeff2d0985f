// Small stages for tests of graph files: they do nothing, but each is of another kind for the checker.
#pragma once
#include "engine/registry.hpp"

namespace trama {

// numbers  source of Number, parameters `files`, `unit` (m | s), `most`, `wait`, `loop`
// half     Number to Number, replicated, changes what it takes
// same     any type, replicated, passes on
// look     Number to Number, serial, keeps order whatever comes
// reorder  any type, restores order
// merge    Number to Number, needs order, keeps 3 messages
// cut      Number to Span, needs order, opens the next domain
// measure  Span to Result, replicated
// leak     Number to Number, says that it may lose, which only sinks may
// sum      sink of Result, needs order
// null     sink of any type
// publish  sink of any type that may lose, with 4 slots
const Registry& test_kinds();

}  // namespace trama
