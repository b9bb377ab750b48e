// What a power cut leaves of a database in use: the files as they are at one moment, and of the log only what was
// flushed for sure, then any part of the rest.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <memory>
#include <set>

#include "cache/database.hpp"
#include "cache/sqlite.hpp"
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

    void go_on() const { ::kill(process_, SIGCONT); }

    /// Lets the writer store `more` trials or a few beyond, stops it and copies the files.
    Files copy_after(int more) {
        go_on();
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

/// A process that looks at the database as it is at one moment for as long as it lives. Checkpoints then stop halfway,
/// and the log goes on growing.
class Reader {
public:
    explicit Reader(const fs::path& path) {
        std::array<int, 2> channel{};
        if (::pipe(channel.data()) != 0) throw std::runtime_error("pipe failed");
        process_ = start_child([&] {
            sqlite::Connection connection(path, sqlite::Access::read_only);
            connection.execute("BEGIN");
            (void)connection.value_of("SELECT count(*) FROM trial");
            if (::write(channel[1], "x", 1) != 1) return 1;
            while (true)
                ::pause();
        });
        ::close(channel[1]);
        char seen = 0;
        const bool ready = ::read(channel[0], &seen, 1) == 1;
        ::close(channel[0]);
        REQUIRE(ready);
    }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    ~Reader() {
        ::kill(process_, SIGKILL);
        (void)wait_for(process_);
    }

private:
    pid_t process_ = 0;
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

/// The files with nothing of the log from `end` on: not there, or all zero where the length alone was written.
Files cut_at(const Files& whole, std::int64_t end, bool shorter) {
    Files cut = whole;
    cut.log.resize(static_cast<std::size_t>(end));
    if (!shorter) cut.log.resize(whole.log.size(), '\0');
    return cut;
}

}  // namespace

TEST_CASE("what a power cut leaves opens, is sound, and lacks no trial that was flushed") {
    constexpr int k_moments = 25;
    for (int round = 0; round < rounds(1); ++round) {
        const ScratchFolder scratch;
        Writer writer(scratch / "t.db");
        Draw draw(static_cast<std::uint64_t>(11 + round));
        (void)writer.copy_after(1);
        std::unique_ptr<Reader> reader;
        int cuts_that_lost = 0;
        int moments_with_flushed = 0;
        for (int moment = 0; moment < k_moments; ++moment) {
            INFO("round " << round << ", moment " << moment);
            writer.go_on();
            if (moment % 4 == 2) reader = std::make_unique<Reader>(scratch / "t.db");
            if (moment % 8 == 0) reader.reset();
            const Files whole = writer.copy_after(static_cast<int>(draw.between(1, 60)));
            const int all = trials_in(scratch / "copy", whole);
            CHECK(all >= writer.stored() + 1);  // a killed process loses nothing: the system still writes it

            const std::size_t flushed = std::min(flushed_bytes(whole), whole.log.size());
            if (flushed > 0) ++moments_with_flushed;
            Files cut = whole;
            cut.log.resize(flushed);
            const int least = trials_in(scratch / "copy", cut);
            CHECK(least <= all);
            for (const bool shorter : {false, true}) {
                for (const bool with_index : {false, true}) {
                    cut = cut_at(
                        whole,
                        draw.between(static_cast<std::int64_t>(flushed), static_cast<std::int64_t>(whole.log.size())),
                        shorter);
                    if (!with_index) cut.index.clear();
                    const int left = trials_in(scratch / "copy", cut);
                    CHECK(left >= least);
                    CHECK(left <= all);
                    if (left < all) ++cuts_that_lost;
                }
            }
        }
        // Else the cuts proved nothing.
        CHECK(cuts_that_lost > 0);
        CHECK(moments_with_flushed > 0);
    }
}
