#include "cache/sqlite.hpp"

#include <cmath>
#include <limits>

#include "scratch.hpp"
#include "tests/catch.hpp"

using namespace tconv;
using namespace tconv::test;

namespace {

struct Fixture {
    ScratchFolder scratch;
    std::filesystem::path path = scratch / "odd name?#%.db";
    sqlite::Connection connection{path, sqlite::Access::read_write};
    Fixture() { connection.execute("CREATE TABLE t (x ANY) STRICT"); }
    std::string count() { return connection.value_of("SELECT count(*) FROM t"); }
};

}  // namespace

TEST_CASE("values come back as they were bound") {
    Fixture f;
    const std::string text("a\0b'\xc3\xa9", 6);
    sqlite::Statement row = f.connection.query("SELECT ?, ?, ?, ?, ?, ?, ?, ?");
    row.bind(std::numeric_limits<std::int64_t>::min()).bind(0.1).bind(text).bind_blob(text).bind_null();
    row.bind(std::numeric_limits<double>::quiet_NaN()).bind(std::string()).bind(true);
    REQUIRE(row.step());
    CHECK(row.integer(0) == std::numeric_limits<std::int64_t>::min());
    CHECK(row.real(1) == 0.1);
    CHECK(row.text(2) == text);
    CHECK(row.blob(3) == text);
    CHECK(row.is_null(4));
    CHECK(row.text(4).empty());
    CHECK(std::isnan(row.real(5)));
    CHECK_FALSE(row.is_null(6));
    CHECK(row.integer(7) == 1);
    CHECK_FALSE(row.step());
}

TEST_CASE("the file is made under the very name that was given") {
    const Fixture f;
    CHECK(std::filesystem::exists(f.path));
}

TEST_CASE("a transaction that is not committed is undone, also by an exception") {
    Fixture f;
    {
        sqlite::Transaction transaction(f.connection);
        f.connection.query("INSERT INTO t VALUES (?)").bind(1).run();
        transaction.commit();
    }
    CHECK(f.count() == "1");
    {
        const sqlite::Transaction transaction(f.connection);
        f.connection.query("INSERT INTO t VALUES (?)").bind(2).run();
    }
    CHECK(f.count() == "1");
    try {
        const sqlite::Transaction transaction(f.connection);
        f.connection.query("INSERT INTO t VALUES (?)").bind(2).run();
        f.connection.query("INSERT INTO missing VALUES (1)").run();
    } catch (const Error&) {
    }
    CHECK(f.count() == "1");
}

TEST_CASE("a lock that another process keeps is an error that says so") {
    Fixture f;
    sqlite::Connection other(f.path, sqlite::Access::read_write);
    other.set_busy_timeout(20);
    const sqlite::Transaction held(f.connection);
    const std::string error = cache_error([&] { const sqlite::Transaction second(other); });
    CHECK(error.find("held by another process") != std::string::npos);
    CHECK(error.find(f.path.string()) != std::string::npos);
}

TEST_CASE("after a wait in vain the next ones are short, until a transaction succeeds") {
    Fixture f;
    sqlite::Connection other(f.path, sqlite::Access::read_write);
    other.set_busy_timeout(100);
    {
        const sqlite::Transaction held(f.connection);
        CHECK_FALSE(cache_error([&] { const sqlite::Transaction second(other); }).empty());
        other.set_busy_timeout(24 * 3600 * 1000);  // were it waited for, this test would never end
        for (int i = 0; i < 3; ++i)
            CHECK_FALSE(cache_error([&] { const sqlite::Transaction second(other); }).empty());
    }
    const sqlite::Transaction second(other);
}

TEST_CASE("a file that is moved while it is open is an error that says so, and is written again where it comes back") {
    Fixture f;
    const std::filesystem::path aside = f.path.string() + ".aside";
    CHECK_FALSE(f.connection.has_moved());
    std::filesystem::rename(f.path, aside);
    CHECK(f.connection.has_moved());
    CHECK(cache_error([&] { const sqlite::Transaction lost(f.connection); }).find("was moved or removed") !=
          std::string::npos);
    std::filesystem::rename(aside, f.path);
    const sqlite::Transaction again(f.connection);
}

TEST_CASE("a file that cannot grow is an error that says so, and its transaction is undone") {
    Fixture f;
    f.connection.execute("PRAGMA max_page_count = 20");
    const std::string error = cache_error([&] {
        sqlite::Transaction transaction(f.connection);
        for (int i = 0; i < 100; ++i)
            f.connection.query("INSERT INTO t VALUES (?)").bind_blob(std::string(4000, 'x')).run();
        transaction.commit();
    });
    CHECK(error.find("the disk is full") != std::string::npos);
    CHECK(f.count() == "0");
}

TEST_CASE("a reader cannot write") {
    const Fixture f;
    sqlite::Connection reader(f.path, sqlite::Access::read_only);
    CHECK(reader.is_read_only());
    CHECK(cache_error([&] { reader.execute("INSERT INTO t VALUES (1)"); }).find("cannot be written") !=
          std::string::npos);
}

TEST_CASE("nothing in a file can reach beyond it") {
    Fixture f;
    CHECK_FALSE(cache_error([&] { f.connection.execute("ATTACH 'other.db' AS o"); }).empty());
    CHECK_FALSE(cache_error([&] { f.connection.execute("SELECT load_extension('x')"); }).empty());
    CHECK_FALSE(
        cache_error([&] { f.connection.execute("PRAGMA writable_schema = ON; DELETE FROM sqlite_schema"); }).empty());
}
