#include "tests/tools/process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>

extern char** environ;

namespace tconv::tests {
namespace {

/// The tests' own environment without what would lead the command out of `folder`, then what the test adds.
std::vector<std::string> environment_in(const std::filesystem::path& folder, const std::vector<std::string>& added) {
    std::vector<std::string> result;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string text(*entry);
        const std::string name = text.substr(0, text.find('='));
        const bool ours = name.rfind("TCONV_", 0) == 0 && name != "TCONV_CACHE" && name != "TCONV_DATABASE";
        const bool leads_out = name == "HOME" || name.rfind("XDG_", 0) == 0 || name.rfind("TCONV_", 0) == 0;
        if (!leads_out || ours) result.push_back(text);
    }
    result.push_back("HOME=" + folder.string());
    result.insert(result.end(), added.begin(), added.end());
    return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (std::string& text : texts)
        result.push_back(text.data());
    result.push_back(nullptr);
    return result;
}

}  // namespace

Finished run_tconv(const std::vector<std::string>& arguments, const std::filesystem::path& folder,
                   const std::vector<std::string>& environment, const std::function<void(pid_t)>& meanwhile,
                   const std::string& output) {
    const std::string out = output.empty() ? (folder / "stdout.txt").string() : output;
    const std::string err = (folder / "stderr.txt").string();
    std::vector<std::string> words{TCONV_COMMAND};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<std::string> variables = environment_in(folder, environment);

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    pid_t child = 0;
    const int failed =
        posix_spawn(&child, TCONV_COMMAND, &actions, nullptr, pointers(words).data(), pointers(variables).data());
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) throw std::runtime_error("the command cannot be started: " TCONV_COMMAND);

    if (meanwhile) meanwhile(child);
    int status = 0;
    waitpid(child, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), output.empty() ? read_file(out) : "",
            read_file(err)};
}

std::string read_file(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

void write_file(const std::filesystem::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
}

}  // namespace tconv::tests
