// What a power cut leaves of a database in use: the files as they are at one moment, and of the log only what was
// flushed for sure, then any part of the rest.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <set>

#include "cache/database.hpp"
#include "core/error.hpp"
#include "tests/cache/samples.hpp"
#include "tests/cache/scratch.hpp"
#include "tests/catch.hpp"
#include "tests/support/random_problem.hpp"

using namespace tconv;
using namespace tconv::test;
namespace fs = std::filesystem;

namespace {

constexpr std::size_t k_log_header = 32;
constexpr std::size_t k_frame_header = 24;
constexpr std::size_t k_page = 4096;

struct Files {
    std::string database;
    std::string log;
    std::string index;
};

/// A process that stores trial after trial and tells which are stored.
class Writer {
public:
    explicit Writer(const fs::path& path) : path_(path) {
        if (::pipe(channel_.data()) != 0) throw std::runtime_error("pipe failed");
        process_ = start_child([&] {
            Database database(path, OpenMode::read_write);
            for (int number = 0;; ++number) {
                database.record(sample_gpu(), sample_trial(sample_problem(), number, 1.0 + number),
                                sample_binary(number));
                if (::write(channel_[1], &number, sizeof number) != sizeof number) return 1;
            }
        });
    }
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;
    ~Writer() {
        ::kill(process_, SIGKILL);
        (void)wait_for(process_);
        for (const int end : channel_)
            ::close(end);
    }

    /// Lets the writer store `more` trials or a few beyond, stops it and copies the files.
    Files copy_after(int more) {
        ::kill(process_, SIGCONT);
        for (int i = 0; i < more; ++i)
            REQUIRE(::read(channel_[0], &stored_, sizeof stored_) == sizeof stored_);
        ::kill(process_, SIGSTOP);
        siginfo_t stopped{};
        REQUIRE(::waitid(P_PID, static_cast<id_t>(process_), &stopped, WSTOPPED) == 0);
        return {read_bytes(path_), read_bytes(path_.string() + "-wal"), read_bytes(path_.string() + "-shm")};
    }
    /// The last trial that it told of.
    [[nodiscard]] int stored() const { return stored_; }

private:
    fs::path path_;
    std::array<int, 2> channel_{};
    pid_t process_ = 0;
    int stored_ = -1;
};

/// Bytes of the log that were flushed for sure: all that a checkpoint has begun to move into the file. The index says
/// how many frames that are ("nBackfillAttempted" of SQLite's file format).
std::size_t flushed_bytes(const Files& files) {
    std::uint32_t frames = 0;
    if (files.index.size() >= 132) std::memcpy(&frames, files.index.data() + 128, sizeof frames);
    return frames == 0 ? 0 : k_log_header + frames * (k_frame_header + k_page);
}

/// Opens a copy: how many trials it holds. They are the first ones, without a gap, and sound.
int trials_in(const fs::path& folder, const Files& files) {
    fs::remove_all(folder);
    fs::create_directory(folder);
    const fs::path path = folder / "t.db";
    write_bytes(path, files.database);
    write_bytes(path.string() + "-wal", files.log);
    if (!files.index.empty()) write_bytes(path.string() + "-shm", files.index);
    std::set<std::int64_t> numbers;
    {
        Database database(path, OpenMode::read_write);
        for (const Trial& trial : database.trials(sample_problem(), device_key(sample_gpu())))
            numbers.insert(trial.config.at("number"));
        CHECK(database.take_warnings().empty());
        if (!numbers.empty()) {
            const auto winner = database.winner(sample_problem(), sample_gpu(), 1);
            REQUIRE(winner);
            CHECK(winner->binary == sample_binary(0));
        }
    }
    CHECK(query_sql(path, "PRAGMA integrity_check") == std::vector<std::string>{"ok"});
    CHECK((numbers.empty() || *numbers.rbegin() + 1 == static_cast<std::int64_t>(numbers.size())));
    return static_cast<int>(numbers.size());
}

}  // namespace

TEST_CASE("what a power cut leaves opens, is sound, and lacks no trial that was flushed") {
    const ScratchFolder scratch;
    Writer writer(scratch / "t.db");
    Draw draw(11);
    (void)writer.copy_after(1);
    const int count = rounds(25);
    int cuts_that_lost = 0;
    int copies_with_flushed = 0;
    for (int round = 0; round < count; ++round) {
        INFO("round " << round);
        const Files whole = writer.copy_after(static_cast<int>(draw.between(1, 60)));
        const int all = trials_in(scratch / "copy", whole);
        CHECK(all >= writer.stored() + 1);  // a killed process loses nothing: the system still writes it

        const std::size_t flushed = std::min(flushed_bytes(whole), whole.log.size());
        Files cut = whole;
        cut.log.resize(flushed);
        const int least = trials_in(scratch / "copy", cut);
        CHECK(least <= all);
        if (flushed > 0) ++copies_with_flushed;
        for (int part = 0; part < 4; ++part) {
            const auto end = static_cast<std::size_t>(
                draw.between(static_cast<std::int64_t>(flushed), static_cast<std::int64_t>(whole.log.size())));
            cut = whole;
            if (part % 2 == 0) {
                cut.log.resize(end);
            } else {  // the length was written, the content was not
                std::fill(cut.log.begin() + static_cast<std::ptrdiff_t>(end), cut.log.end(), '\0');
            }
            if (part < 2) cut.index.clear();
            const int left = trials_in(scratch / "copy", cut);
            CHECK(left >= least);
            CHECK(left <= all);
            if (left < all) ++cuts_that_lost;
        }
    }
    // Else the cuts proved nothing.
    CHECK(cuts_that_lost > 0);
    CHECK(copies_with_flushed > 0);
}
