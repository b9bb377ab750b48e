#include "tools/command.hpp"

int main(int argc, char** argv) {
    return tconv::run_command(argc, argv);
}
