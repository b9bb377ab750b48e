#pragma once

// The script of the fake library, a line each:
//   version 91900             what cudnnGetVersion answers
//   create 1001               the status of cudnnCreate
//   operation 3000            the status of finalising an operation graph
//   heuristics B 3000         the status of asking in mode A, B or F (fallback)
//   engine AF 38 knobs=2:1,13:0 notes=0,4 workspace=64 build=3000 run=5000 operations=2
//                             engine 38, listed in modes A and F, for graphs of two operations; "-" for no mode
extern "C" {
void fake_cudnn_script(const char* text);
/// Descriptors and handles not destroyed yet.
int fake_cudnn_live();
}
