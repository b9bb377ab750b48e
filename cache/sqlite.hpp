#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/error.hpp"

struct sqlite3;
struct sqlite3_stmt;

/// A small layer over SQLite's C interface, and its only user.
namespace tconv::sqlite {

/// What SQLite reported, as far as anybody reacts to it.
enum class Reason {
    other,
    busy,            ///< another connection holds the lock
    moved,           ///< the file was moved or removed while it was open
    cannot_open,     ///< the file, or one that SQLite needs beside it
    read_only,       ///< a write is needed and not allowed
    hot_journal,     ///< a write was cut short, and undoing it is not allowed
    not_a_database,  ///< the file's content is something else
};

/// An Error(cache) whose sentence names the database and the reason.
class Failure : public Error {
public:
    Failure(Reason reason, const std::string& sentence) : Error(ErrorKind::cache, sentence), reason_(reason) {}
    [[nodiscard]] Reason reason() const noexcept { return reason_; }

private:
    Reason reason_;
};

enum class Access {
    read_write,  ///< made where absent
    read_only,
    immutable,  ///< read-only, and nobody else writes: needs no lock and no file beside it
};

class Connection;

/// A prepared statement on loan from its connection, which keeps it prepared. Handing it back ends its read.
class Statement {
public:
    Statement(Statement&& other) noexcept;
    Statement& operator=(Statement&&) = delete;
    ~Statement();

    /// Values of the parameters in order, from the first that has none yet.
    Statement& bind(std::int64_t value);
    Statement& bind(int value) { return bind(static_cast<std::int64_t>(value)); }
    Statement& bind(bool value) { return bind(static_cast<std::int64_t>(value)); }
    Statement& bind(double value);            ///< not-a-number becomes NULL, as SQLite has none
    Statement& bind(std::string_view value);  ///< text, copied
    Statement& bind(const std::string& value) { return bind(std::string_view(value)); }
    Statement& bind(const char*) = delete;  // would become a bool or need a length; give a string_view
    Statement& bind_blob(std::string_view value);
    Statement& bind_null();
    /// The value of another statement's column, whatever its type.
    Statement& bind_column(const Statement& row, int column);

    /// True when there is a row. Throws Failure.
    bool step();
    /// Steps to the end.
    void run();

    [[nodiscard]] std::int64_t integer(int column) const;
    [[nodiscard]] double real(int column) const;  ///< NULL is not-a-number
    [[nodiscard]] std::string text(int column) const;
    [[nodiscard]] std::string blob(int column) const;
    [[nodiscard]] bool is_null(int column) const;

private:
    friend class Connection;
    Statement(Connection& connection, sqlite3_stmt* statement) : connection_(connection), statement_(statement) {}
    Connection& connection_;
    sqlite3_stmt* statement_;
    int bound_ = 0;
};

/// One open database. Nothing in the file can make it run code: defensive mode, an untrusted schema, no triggers, no
/// views, no attached files.
class Connection {
public:
    /// Opens; content is first looked at by the first statement. Throws Failure.
    Connection(const std::filesystem::path& path, Access access);
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection();

    /// `sql` must outlive the connection (a literal, a static string). One loan of each text at a time.
    [[nodiscard]] Statement query(std::string_view sql);

    /// The same for text that was put together; it is kept with the connection.
    [[nodiscard]] Statement query_made(std::string sql);

    /// Runs statements that are needed once, such as those that make a schema.
    void execute(const std::string& sql);

    /// First column of the first row of a statement that is needed once.
    [[nodiscard]] std::string value_of(const std::string& sql);

    /// How long a statement tries again, with growing pauses, while another process holds the database.
    void set_busy_timeout(int milliseconds);
    [[nodiscard]] int busy_timeout() const { return busy_timeout_; }

    /// Gives what is deleted back to the file system. Takes as much disk again while it works.
    void shrink();

    /// True when the path leads to another file by now, or to none: what is written would be lost.
    [[nodiscard]] bool has_moved() const;

    /// Leaves the write-ahead log of somebody else's database as it is when closing.
    void leave_log_alone();

    /// True when the file could be opened for reading alone.
    [[nodiscard]] bool is_read_only() const;
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
    friend class Statement;
    friend class Transaction;
    struct Closer {
        void operator()(sqlite3* handle) const;
        void operator()(sqlite3_stmt* handle) const;
    };
    using StatementPointer = std::unique_ptr<sqlite3_stmt, Closer>;

    [[nodiscard]] StatementPointer prepare(std::string_view sql, bool keep);
    [[noreturn]] void fail(int code) const;
    void configure();

    void begin_writing();

    std::filesystem::path path_;
    int busy_timeout_ = 0;
    bool impatient_ = false;  // a write has waited in vain
    std::unique_ptr<sqlite3, Closer> handle_;
    std::set<std::string> texts_;  // of statements that were put together
    std::map<std::string_view, StatementPointer> prepared_;
};

/// A write transaction: BEGIN IMMEDIATE, with patience while other processes write. Undone unless committed. Where that
/// patience was in vain, the next ones wait a moment only, until one succeeds: somebody who has held the database for
/// long shall not stop the caller again and again. Throws Failure.
class Transaction {
public:
    explicit Transaction(Connection& connection);
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    ~Transaction();

    void commit();

private:
    Connection& connection_;
    bool open_ = true;
};

}  // namespace tconv::sqlite
