#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "cache/code_store.hpp"
#include "cache/file.hpp"
#include "cache/paths.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "device/emulator/emulator.hpp"
#include "device/emulator/program.hpp"
#include "device/emulator/sanitizer.hpp"

namespace tconv {

const std::map<std::string, std::string_view>& embedded_emulator_header();  // generated

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr const char* k_extension = "so";
constexpr auto k_compile_limit = 300s;
constexpr std::size_t k_longest_log = 64 * 1024;

/// Compilations under way in this process.
class Compilations {
public:
    class One {
    public:
        explicit One(Compilations& all) : all_(all) {
            const std::lock_guard lock(all_.mutex_);
            ++all_.count_;
        }
        One(const One&) = delete;
        One& operator=(const One&) = delete;
        ~One() {
            {
                const std::lock_guard lock(all_.mutex_);
                --all_.count_;
            }
            all_.changed_.notify_all();
        }

    private:
        Compilations& all_;
    };

    void wait_for_none(std::chrono::milliseconds patience) {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, patience, [this] { return count_ == 0; });
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int count_ = 0;
};

Compilations& compilations() {
    static Compilations all;
    return all;
}

/// A folder for one compilation, private to this user, removed with what is in it.
class WorkFolder {
public:
    WorkFolder() {
        std::string name = (fs::temp_directory_path() / "tconv-compile-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) {
            throw Error(ErrorKind::compile, fmt::format("'{}' cannot be made: {}", name, std::strerror(errno)));
        }
        path_ = name;
    }
    WorkFolder(const WorkFolder&) = delete;
    WorkFolder& operator=(const WorkFolder&) = delete;
    ~WorkFolder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    [[nodiscard]] std::string path() const { return path_.string(); }
    [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

    void write(const std::string& name, std::string_view text) const {
        std::ofstream stream(path_ / name, std::ios::binary);
        stream.write(text.data(), static_cast<std::streamsize>(text.size()));
        stream.close();
        if (!stream) throw Error(ErrorKind::compile, fmt::format("'{}' cannot be written", file(name)));
    }

private:
    fs::path path_;
};

std::vector<std::string> own_options() {
    std::vector<std::string> options{
        "-std=c++17", "-x", "c++", "-shared", "-fPIC", "-O2", "-fvisibility=hidden", "-fno-exceptions",
        "-fno-math-errno", "-fno-strict-aliasing", "-fno-threadsafe-statics", "-Wno-unknown-pragmas", "-Wno-psabi",
        // A multiply-add is fused where the source says so, and nowhere else.
        "-ffp-contract=off",
        // Nothing of the C++ library: the process that loads the code may have another one.
        "-nostartfiles", "-nodefaultlibs"};
#ifdef __x86_64__
    if (__builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2")) {
        options.insert(options.end(), {"-mfma", "-mavx2"});
    }
#endif
    if constexpr (sanitizer::enabled) {
        options.insert(options.end(), {"-fsanitize=address,undefined", "-fno-sanitize-recover=undefined",
                                       "-fno-omit-frame-pointer", "-g"});
    }
    return options;
}

void check_names(const CompileRequest& request) {
    for (const std::string& kernel : request.kernels) {
        const bool plain = !kernel.empty() && std::all_of(kernel.begin(), kernel.end(), [](unsigned char c) {
            return std::isalnum(c) != 0 || c == '_';
        });
        if (!plain || std::isdigit(static_cast<unsigned char>(kernel[0])) != 0) {
            throw Error(ErrorKind::bad_input, fmt::format("the kernel name '{}' must be an identifier", kernel));
        }
    }
    if (request.name.find_first_of("\"\\\n") != std::string::npos) {
        throw Error(ErrorKind::bad_input, "the name of a source must not hold quotes, backslashes or line ends");
    }
}

/// The source between the emulator's header and one exported entry a kernel.
std::string translation_unit(const CompileRequest& request) {
    std::string text = fmt::format("#include \"cuda_on_cpu.hpp\"\n#line 1 \"{}\"\n{}\n", request.name, request.source);
    text += "#line 1 \"kernel entries\"\n";
    for (const std::string& kernel : request.kernels) {
        text += fmt::format(
            "extern \"C\" __attribute__((visibility(\"default\"))) void tconv_kernel_{0}(void** arguments) {{ "
            "tconv_emulator::call({0}, arguments); }}\n",
            kernel);
    }
    return text;
}

/// Hash of everything that the object depends on, each part with its length so that no two lists look the same.
std::string content_key(const std::string& version, const std::vector<std::string>& options, const std::string& text) {
    std::string all;
    const auto add = [&](std::string_view part) { all += fmt::format("{}:{}\n", part.size(), part); };
    add(version);
    for (const std::string& option : options)
        add(option);
    for (const auto& [name, content] : embedded_emulator_header())
        add(content);
    add(text);
    return content_hash(all);
}

/// Words for an exit code as a shell counts them.
std::string ending(int exit_code) {
    constexpr int first_signal = 128;
    if (exit_code <= first_signal) return fmt::format("exit code {}", exit_code);
    return fmt::format("signal {} ({})", exit_code - first_signal, strsignal(exit_code - first_signal));
}

class HostCompiler final : public Compiler {
public:
    explicit HostCompiler(HostCompilerStatus status) : status_(std::move(status)), options_(own_options()) {}

    [[nodiscard]] std::string version() const override { return status_.version; }

    [[nodiscard]] CompileResult compile(const CompileRequest& request) override;

private:
    /// Compiles `text` and returns the object's bytes; nothing when the compiler refuses it. Sets `log`.
    std::optional<std::string> run_compiler(const std::string& text, const std::vector<std::string>& options,
                                            std::string& log) const;

    HostCompilerStatus status_;
    std::vector<std::string> options_;
};

CompileResult HostCompiler::compile(const CompileRequest& request) {
    const auto start = std::chrono::steady_clock::now();
    check_names(request);
    std::vector<std::string> options = options_;
    options.insert(options.end(), request.options.begin(), request.options.end());
    const std::string text = translation_unit(request);
    const std::string key = content_key(status_.version, options, text);

    CompileResult result;
    const CodeStore store(code_directory());
    if (store.get(key, k_extension)) {
        result.ok = true;
        result.code.code = store.path_of(key, k_extension).string();
    } else if (const auto object = run_compiler(text, options, result.log)) {
        result.ok = true;
        result.code.code = store.put(key, k_extension, *object).string();
    }
    result.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return result;
}

std::optional<std::string> HostCompiler::run_compiler(const std::string& text, const std::vector<std::string>& options,
                                                      std::string& log) const {
    const Compilations::One under_way(compilations());
    const WorkFolder folder;
    for (const auto& [name, content] : embedded_emulator_header())
        folder.write(name, content);
    folder.write("kernel.cpp", text);
    std::vector<std::string> arguments{status_.path};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.insert(arguments.end(),
                     {folder.file("kernel.cpp"), "-o", folder.file("kernel.so"), "-lm", "-lc", "-lgcc"});

    emulator::ProgramResult run;
    try {
        run = emulator::run_program(arguments, k_compile_limit, k_longest_log, folder.path());
    } catch (const Error& error) {
        throw Error(ErrorKind::compile, error.what());
    }
    log = std::move(run.output);
    if (run.timed_out) log += fmt::format("\nstopped after {} seconds\n", k_compile_limit.count());
    if (run.exit_code != 0 && log.empty())
        log = fmt::format("'{}' ended with {}\n", status_.path, ending(run.exit_code));
    if (run.timed_out || run.exit_code != 0) return std::nullopt;
    auto object = read_file(folder.file("kernel.so"));
    if (!object) throw Error(ErrorKind::compile, fmt::format("'{}' ended well but wrote no object", status_.path));
    return object;
}

}  // namespace

void end_host_compilations() {
    emulator::end_programs();
    compilations().wait_for_none(500ms);  // their folders go
}

std::unique_ptr<Compiler> make_host_compiler() {
    HostCompilerStatus status = host_compiler_status();
    if (!status.available) throw Error(ErrorKind::unavailable, status.reason);
    return std::make_unique<HostCompiler>(std::move(status));
}

}  // namespace tconv
