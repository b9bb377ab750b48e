#include "tuner/workers/serve.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <thread>
#include <utility>

#include "core/error.hpp"
#include "tuner/laboratory.hpp"
#include "tuner/local_evaluator.hpp"
#include "tuner/workers/child_process.hpp"
#include "tuner/workers/codec.hpp"
#include "tuner/workers/messages.hpp"

namespace tconv {
namespace {

/// The streams to the command.
class Line {
public:
    Line() : output_(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)) {
        // Nothing else may reach the stream of messages: neither a kernel nor a program that a compiler starts.
        ::dup2(STDERR_FILENO, STDOUT_FILENO);
    }
    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;
    ~Line() { ::close(output_); }

    void send(const Message& message) const {
        const std::string frame = framed(message);
        for (std::size_t written = 0; written < frame.size();) {
            const ssize_t count = ::write(output_, frame.data() + written, frame.size() - written);
            if (count < 0 && errno == EINTR) continue;
            if (count <= 0) ::_exit(0);  // nobody listens
            written += static_cast<std::size_t>(count);
        }
    }

    /// The next request; none when there will be no more.
    std::optional<Message> receive() {
        std::array<char, 65536> buffer{};
        for (;;) {
            if (auto message = take_message(received_)) return message;
            const ssize_t count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
            if (count < 0 && errno == EINTR) continue;
            if (count <= 0) return std::nullopt;
            received_.append(buffer.data(), static_cast<std::size_t>(count));
        }
    }

private:
    int output_;
    std::string received_;
};

/// Ends the process when the command is gone, also in the middle of an endless kernel.
void end_with_the_command(const std::function<void()>& at_end) {
    std::thread([at_end] {
        pollfd hang_up{STDIN_FILENO, POLLRDHUP, 0};
        while (::poll(&hang_up, 1, -1) < 0 && errno == EINTR) {
        }
        if (at_end) at_end();
        ::_exit(0);
    }).detach();
}

class Server {
public:
    Server(WorkerTools tools, Line& line) : tools_(std::move(tools)), line_(line) {
        if (!tools_.device) return;
        laboratory_.emplace(*tools_.device, *tools_.compiler, tools_.watch);
        evaluator_.emplace(*laboratory_, [this](const char* at) { line_.send({{messages::k_at, at}}); });
    }

    [[nodiscard]] Message greeting() const {
        Message greeting{{messages::k_version, messages::k_protocol},
                         {messages::k_compiler, tools_.compiler->version()}};
        if (tools_.device) greeting[messages::k_device] = to_message(tools_.device->info());
        return greeting;
    }

    [[nodiscard]] Message answer_or_error(const Message& request) {
        try {
            Message result = answer(request);
            return {{messages::k_done, std::move(result)},
                    {messages::k_device_seconds, evaluator_ ? evaluator_->device_seconds() : 0}};
        } catch (const std::exception& error) {
            return {{messages::k_error, error.what()}};
        }
    }

private:
    [[nodiscard]] Message answer(const Message& request) {
        const std::string task = request.at(messages::k_do).get<std::string>();
        if (task == messages::k_compile)
            return to_message(tools_.compiler->compile(compile_request_from(request.at(messages::k_what))));
        if (!evaluator_) throw Error(ErrorKind::device, "this worker has no device");
        if (task == messages::k_prepare) {
            return to_message(evaluator_->prepare(parse_key(request.at("problem").get<std::string>()),
                                                  request.at("seed").get<std::uint64_t>()));
        }
        if (task == messages::k_measure)
            return to_message(evaluator_->measure(compiled_from(request.at(messages::k_what))));
        if (task != messages::k_time) throw Error(ErrorKind::device, fmt::format("request ({}) is unknown", task));
        std::vector<Compiled> candidates;
        for (const Message& candidate : request.at(messages::k_what))
            candidates.push_back(compiled_from(candidate));
        Message timings = Message::array();
        for (const Timing& timing :
             evaluator_->time_in_turn(candidates, request.at("rounds").get<int>(), request.at("seconds").get<double>()))
            timings.push_back(to_message(timing));
        return timings;
    }

    WorkerTools tools_;
    Line& line_;
    std::optional<Laboratory> laboratory_;
    std::optional<LocalEvaluator> evaluator_;
};

}  // namespace

void serve_worker(const std::function<WorkerTools()>& open, const std::function<void()>& at_end) {
    ::prctl(PR_SET_NAME, "tconv worker");  // what lists of processes show
    Line line;
    end_with_the_command(at_end);
    std::optional<Server> server;
    try {
        server.emplace(open(), line);
        line.send(server->greeting());
    } catch (const std::exception& error) {
        line.send({{messages::k_version, messages::k_protocol}, {messages::k_error, error.what()}});
        return;
    }
    try {
        while (const auto request = line.receive())
            line.send(server->answer_or_error(*request));
    } catch (const Error& error) {
        // Where a damaged message ends, and the next one begins, cannot be known.
        line.send({{messages::k_error, error.what()}});
    }
}

}  // namespace tconv
