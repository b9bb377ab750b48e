// fmt's functions, compiled into the library: distributions ship fmt as a shared library alone, and a program should
// not need it to run a kernel. Found here first, they leave the linker nothing to take from that library.
#define FMT_HEADER_ONLY
#include <fmt/format.h>
