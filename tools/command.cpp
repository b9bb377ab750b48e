#include "tools/command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>

#include "core/error.hpp"
#include "tools/format.hpp"

namespace tconv {
namespace {

constexpr const char* k_footer =
    "Examples:\n"
    "  tconv tune --input 8x48x96x96x96 --weight 48x24x3x3x3\n"
    "  tconv tune --layers workloads/layers.yaml --only seed3d --time-limit 3m\n"
    "  tconv bench --layers workloads/layers.yaml --only headline\n"
    "  tconv cache show seed3d\n\n"
    "Exit codes: 0 done, 1 no winner or a failed run, 2 bad input, 130 interrupted.";

int fail(int exit_code, const std::string& sentence) {
    std::fputs(("tconv: " + one_line(sentence) + "\n").c_str(), stderr);
    return exit_code;
}

/// A database or cache folder that cannot be used is bad input: the path is the user's choice.
int exit_code_of(ErrorKind kind) {
    switch (kind) {
        case ErrorKind::bad_input:
        case ErrorKind::not_found:
        case ErrorKind::cache:
            return k_exit_bad_input;
        case ErrorKind::device:
        case ErrorKind::compile:
        case ErrorKind::unavailable:
            return k_exit_failed;
    }
    return k_exit_failed;
}

/// The command as one types it.
std::string command_text(int argc, const char* const* argv) {
    std::string text = "tconv";
    for (int i = 1; i < argc; ++i)
        text += std::string(" ") + argv[i];
    return text;
}

int parse_and_run(int argc, const char* const* argv) {
    CLI::App app("Finds, keeps and serves the fastest correct kernel for a transposed convolution.", "tconv");
    app.footer(k_footer);
    app.set_version_flag("--version", "tconv " TCONV_VERSION, "Print the version and exit");
    app.require_subcommand(0, 1);
    app.get_formatter()->column_width(34);
    int exit_code = k_exit_ok;
    add_tune_command(app, exit_code);
    add_bench_command(app, exit_code, command_text(argc, argv));
    add_compile_command(app, exit_code);
    add_cache_command(app, exit_code);
    add_devices_command(app);
    add_spaces_command(app);
    add_worker_command(app);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() != 0)
            return fail(k_exit_bad_input, fmt::format("{} (see tconv --help)", error.what()));
        (void)app.exit(error);  // prints the help or the version
        return k_exit_ok;
    }
    if (app.get_subcommands().empty())
        return fail(k_exit_bad_input,
                    "no command given: it must be tune, bench, compile, cache, devices or spaces (see tconv --help)");
    return exit_code;
}

/// A result that did not reach its reader is no success.
int flush_output(int exit_code) {
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
    return fail(k_exit_failed, "standard output cannot be written");
}

}  // namespace

int run_command(int argc, const char* const* argv) {
    // A file that may not grow (a limit of the shell) is then an error of the write, not the end of the session.
    std::signal(SIGXFSZ, SIG_IGN);
    try {
        return flush_output(parse_and_run(argc, argv));
    } catch (const Error& error) {
        return fail(exit_code_of(error.kind()), error.what());
    } catch (const std::bad_alloc&) {
        return fail(k_exit_failed, "out of memory");
    } catch (const std::exception& error) {
        return fail(k_exit_failed, fmt::format("unexpected failure: {}", error.what()));
    }
}

void add_database_option(CLI::App& command, std::string& path) {
    command.add_option("--database", path, "Database of trials (default: TCONV_DATABASE, else the user's data folder)")
        ->type_name("FILE");
}

}  // namespace tconv
