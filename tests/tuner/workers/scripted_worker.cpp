// A worker that does what its argument says: a right one, or one of many wrong ones.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tuner/workers/codec.hpp"
#include "tuner/workers/framing.hpp"
#include "tuner/workers/messages.hpp"

using namespace tconv;

namespace {

/// Without a sanitizer's handler, which would make an exit code of it.
void end_by(int number) {
    std::signal(number, SIG_DFL);
    std::raise(number);
}

void send_bytes(const std::string& bytes) {
    for (std::size_t written = 0; written < bytes.size();) {
        const ssize_t count = ::write(STDOUT_FILENO, bytes.data() + written, bytes.size() - written);
        if (count <= 0) ::_exit(0);
        written += static_cast<std::size_t>(count);
    }
}

void send(const Message& message) {
    send_bytes(framed(message));
}

/// The next request; ends the process when there is none.
Message receive() {
    static std::string received;
    for (;;) {
        if (auto message = take_message(received)) return *message;
        char buffer[65536];
        const ssize_t count = ::read(STDIN_FILENO, buffer, sizeof buffer);
        if (count <= 0) ::_exit(0);
        received.append(buffer, static_cast<std::size_t>(count));
    }
}

[[noreturn]] void hang() {
    for (;;)
        std::this_thread::sleep_for(std::chrono::hours(1));
}

void greet(int version = messages::k_protocol) {
    DeviceInfo device;
    device.name = "scripted";
    send({{messages::k_version, version},
          {messages::k_compiler, "scripted 1"},
          {messages::k_device, to_message(device)}});
}

void notice(const char* at) {
    send({{messages::k_at, at}});
}

void take_memory(std::size_t bytes) {
    // Kept and written to, so that it is there.
    static std::vector<std::unique_ptr<char[]>> kept;
    kept.push_back(std::make_unique<char[]>(bytes));
    std::memset(kept.back().get(), 1, bytes);
}

/// Answers every request: a compilation by what its source asks for, anything else with the request itself.
void serve() {
    greet();
    for (;;) {
        const Message request = receive();
        if (request.at(messages::k_do).get<std::string>() != messages::k_compile) {
            send({{messages::k_done, request}});
            continue;
        }
        const CompileRequest asked = compile_request_from(request.at(messages::k_what));
        if (asked.source == "crash") end_by(SIGSEGV);
        if (asked.source == "hang") hang();
        if (asked.source == "nonsense") send({{messages::k_done, "nonsense"}});
        if (asked.source == "no compiler") send({{messages::k_error, "there is no compiler"}});
        if (asked.source == "grow") take_memory(std::size_t{300} << 20);
        CompileResult result;
        result.ok = asked.source != "refused";
        result.log = "process " + std::to_string(::getpid());
        result.code.code = asked.source;
        if (asked.source != "nonsense" && asked.source != "no compiler") send({{messages::k_done, to_message(result)}});
    }
}

const std::map<std::string, std::function<void()>>& scripts() {
    static const std::map<std::string, std::function<void()>> all{
        {"serve", serve},
        // Greetings.
        {"greet-garbage", [] { send_bytes("Hello, I am a worker, and no frame holds what I say."); }},
        {"greet-list",
         [] {
             send(Message::array({1, 2}));
         }},
        {"greet-nothing", [] { send(Message::object()); }},
        {"greet-version", [] { greet(messages::k_protocol + 1); }},
        {"greet-version-text",
         [] {
             send({{messages::k_version, "one"}});
         }},
        {"greet-error",
         [] {
             send({{messages::k_version, messages::k_protocol}, {messages::k_error, "the device is on holiday"}});
         }},
        {"greet-late", hang},
        {"greet-not", [] { std::fputs("no greeting from me\n", stderr); }},
        // Answers to the first request.
        {"die",
         [] {
             greet();
             (void)receive();
             std::fputs("my last words\x01\xFF\n", stderr);
             std::raise(SIGABRT);
         }},
        {"exit",
         [] {
             greet();
             (void)receive();
             ::_exit(5);
         }},
        {"exit-early",
         [] {
             greet();
             ::_exit(6);
         }},
        {"be-killed",
         [] {
             greet();
             (void)receive();
             std::raise(SIGKILL);
         }},
        {"garbage",
         [] {
             greet();
             (void)receive();
             send_bytes(std::string(100, '\xFF'));
             hang();
         }},
        {"half",
         [] {
             greet();
             (void)receive();
             send_bytes(framed({{messages::k_done, "much"}}).substr(0, 7));
         }},
        {"list",
         [] {
             greet();
             (void)receive();
             send(Message::array());
             hang();
         }},
        {"wrong-notice",
         [] {
             greet();
             (void)receive();
             send({{messages::k_at, 7}});
             hang();
         }},
        {"notices",
         [] {
             greet();
             const Message request = receive();
             for (const char* at : {messages::k_at_run, messages::k_at_check, messages::k_at_timing})
                 notice(at);
             send({{messages::k_done, request}});
             hang();
         }},
        {"hang-after-notice",
         [] {
             greet();
             (void)receive();
             notice(messages::k_at_run);
             hang();
         }},
        {"endless-notices",
         [] {
             greet();
             (void)receive();
             for (;;)
                 notice(messages::k_at_run);
         }},
        {"hang",
         [] {
             greet();
             (void)receive();
             hang();
         }},
        {"read-not",
         [] {
             greet();
             hang();
         }},
        {"eat-memory",
         [] {
             greet();
             (void)receive();
             for (;;) {
                 take_memory(std::size_t{16} << 20);
                 std::this_thread::sleep_for(std::chrono::milliseconds(10));
             }
         }},
        {"flood-complaints",
         [] {
             greet();
             (void)receive();
             for (;;)
                 std::fputs("a kernel prints and prints\n", stderr);
         }},
        {"leave-a-child",
         [] {
             greet();
             (void)receive();
             // The child holds the streams open, and ends by itself in the end.
             if (::fork() == 0) {
                 ::sleep(60);
                 ::_exit(0);
             }
             end_by(SIGSEGV);
         }},
    };
    return all;
}

}  // namespace

int main(int count, char** arguments) {
    const auto script = count == 2 ? scripts().find(arguments[1]) : scripts().end();
    if (script == scripts().end()) return 2;
    script->second();
    return 0;
}
