#include "cache/sqlite.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>
#include <utility>

#include "cache/printable_line.hpp"

namespace tconv::sqlite {
namespace {

constexpr int k_busy_milliseconds = 10'000;
constexpr int k_impatient_milliseconds = 50;
// Largest value in one column. The largest honest one is a compiled kernel of a few megabytes.
constexpr int k_longest_value = 256 << 20;

Reason reason_of(int code) {
    if (code == SQLITE_READONLY_ROLLBACK) return Reason::hot_journal;
    if (code == SQLITE_READONLY_DBMOVED) return Reason::moved;
    switch (code & 0xff) {
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
        case SQLITE_PROTOCOL:  // the same, of the log's shared memory
            return Reason::busy;
        case SQLITE_CANTOPEN:
            return Reason::cannot_open;
        case SQLITE_READONLY:
            return Reason::read_only;
        case SQLITE_NOTADB:
            return Reason::not_a_database;
        default:
            return Reason::other;
    }
}

constexpr const char* k_moved = "was moved or removed while it was in use";

std::string explain(int code, const std::string& message, int system_error, int waited_milliseconds) {
    if (code == SQLITE_READONLY_DBMOVED) return k_moved;
    const std::string detail = system_error != 0 ? std::strerror(system_error) : message;
    switch (code & 0xff) {
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
        case SQLITE_PROTOCOL:
            return fmt::format("has been held by another process for more than {} s", waited_milliseconds / 1000.0);
        case SQLITE_CANTOPEN:
            return fmt::format("cannot be opened: {}", detail);
        case SQLITE_READONLY:
            return fmt::format("cannot be written: {}", detail);
        case SQLITE_NOTADB:
            return "is not an SQLite database";
        case SQLITE_CORRUPT:
            return fmt::format("is damaged: {}", message);
        case SQLITE_FULL:
            return "cannot grow: the disk is full";
        case SQLITE_IOERR:
            return system_error == 0 ? fmt::format("cannot be read or written: {}", message)
                                     : fmt::format("cannot be read or written: {} ({})", detail, message);
        case SQLITE_ERROR:
            return fmt::format("does not have the tables of a tconv database: {}", message);
        default:
            return fmt::format("cannot be used: {}", message);
    }
}

/// The path as a URI, which alone can say "immutable".
std::string uri_of(const std::filesystem::path& path, const char* parameters) {
    std::string uri = "file:";
    for (const char c : path.string()) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
                           c == '.' || c == '-' || c == '_';
        uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return uri + parameters;
}

}  // namespace

void Connection::Closer::operator()(sqlite3* handle) const {
    sqlite3_close_v2(handle);
}

void Connection::Closer::operator()(sqlite3_stmt* handle) const {
    sqlite3_finalize(handle);
}

Connection::Connection(const std::filesystem::path& path, Access access) : path_(std::filesystem::absolute(path)) {
    int flags = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    flags |= access == Access::read_write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
    const std::string uri = uri_of(path_, access == Access::immutable ? "?immutable=1" : "");
    sqlite3* opened = nullptr;
    const int code = sqlite3_open_v2(uri.c_str(), &opened, flags, nullptr);
    handle_.reset(opened);
    if (code != SQLITE_OK) fail(code);
    configure();
}

Connection::~Connection() = default;

void Connection::configure() {
    sqlite3* const db = handle_.get();
    for (const auto& [option, value] : {std::pair{SQLITE_DBCONFIG_DEFENSIVE, 1},
                                        {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                                        {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                                        {SQLITE_DBCONFIG_DQS_DDL, 0},
                                        {SQLITE_DBCONFIG_DQS_DML, 0},
                                        {SQLITE_DBCONFIG_ENABLE_FKEY, 1}}) {
        sqlite3_db_config(db, option, value, nullptr);
    }
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, k_longest_value);
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    set_busy_timeout(k_busy_milliseconds);
    execute("PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY");
}

void Connection::fail(int code) const {
    sqlite3* const db = handle_.get();
    const Reason reason = reason_of(code);
    // Only these carry the system's reason; elsewhere the number may be left from something long past.
    const bool has_system_error = reason == Reason::cannot_open || (code & 0xff) == SQLITE_IOERR;
    const int system_error = has_system_error && db != nullptr ? sqlite3_system_errno(db) : 0;
    const std::string message = printable_line(db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code));
    throw Failure(reason, fmt::format("the database '{}' {}", path_.string(),
                                      explain(code, message, system_error, busy_timeout_)));
}

Connection::StatementPointer Connection::prepare(std::string_view sql, bool keep) {
    sqlite3_stmt* statement = nullptr;
    const unsigned flags = keep ? SQLITE_PREPARE_PERSISTENT : 0;
    const int code =
        sqlite3_prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()), flags, &statement, nullptr);
    StatementPointer result(statement);
    if (code != SQLITE_OK) fail(code);
    return result;
}

Statement Connection::query(std::string_view sql) {
    auto found = prepared_.find(sql);
    if (found == prepared_.end()) found = prepared_.emplace(sql, prepare(sql, true)).first;
    assert(sqlite3_stmt_busy(found->second.get()) == 0);
    return Statement(*this, found->second.get());
}

Statement Connection::query_made(std::string sql) {
    return query(*texts_.insert(std::move(sql)).first);
}

void Connection::execute(const std::string& sql) {
    const int code = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) fail(code);
}

std::string Connection::value_of(const std::string& sql) {
    const StatementPointer owned = prepare(sql, false);
    Statement statement(*this, owned.get());
    return statement.step() ? statement.text(0) : std::string();
}

void Connection::set_busy_timeout(int milliseconds) {
    busy_timeout_ = milliseconds;
    sqlite3_busy_timeout(handle_.get(), milliseconds);
}

bool Connection::has_moved() const {
    int moved = 0;
    sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    return moved != 0;
}

void Connection::shrink() {
    // SQLite attaches its copy, which may be larger than what memory should hold.
    sqlite3_limit(handle_.get(), SQLITE_LIMIT_ATTACHED, 1);
    execute("PRAGMA temp_store = FILE");
    const int code = sqlite3_exec(handle_.get(), "VACUUM", nullptr, nullptr, nullptr);
    sqlite3_limit(handle_.get(), SQLITE_LIMIT_ATTACHED, 0);
    if (code != SQLITE_OK) fail(code);
    execute("PRAGMA temp_store = MEMORY");
}

void Connection::begin_writing() {
    using Clock = std::chrono::steady_clock;
    if (has_moved()) throw Failure(Reason::moved, fmt::format("the database '{}' {}", path_.string(), k_moved));
    sqlite3* const db = handle_.get();
    const int patience = impatient_ ? std::min(busy_timeout_, k_impatient_milliseconds) : busy_timeout_;
    const auto deadline = Clock::now() + std::chrono::milliseconds(patience);
    sqlite3_busy_timeout(db, patience);
    int code = SQLITE_OK;
    while (true) {
        code = sqlite3_exec(db, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr);
        // Some kinds of "busy" do not wait by themselves: another process recovers the log, or switches the journal.
        if (code == SQLITE_OK || reason_of(code) != Reason::busy || Clock::now() >= deadline) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    sqlite3_busy_timeout(db, busy_timeout_);
    const bool in_vain = code != SQLITE_OK && reason_of(code) == Reason::busy;
    impatient_ = in_vain && (impatient_ || patience > k_impatient_milliseconds);
    if (code != SQLITE_OK) fail(code);
}

void Connection::leave_log_alone() {
    sqlite3_db_config(handle_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

bool Connection::is_read_only() const {
    return sqlite3_db_readonly(handle_.get(), "main") == 1;
}

Statement::Statement(Statement&& other) noexcept
    : connection_(other.connection_), statement_(std::exchange(other.statement_, nullptr)), bound_(other.bound_) {}

Statement::~Statement() {
    if (statement_ == nullptr) return;
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
}

Statement& Statement::bind(std::int64_t value) {
    const int code = sqlite3_bind_int64(statement_, ++bound_, value);
    if (code != SQLITE_OK) connection_.fail(code);
    return *this;
}

Statement& Statement::bind(double value) {
    const int code = sqlite3_bind_double(statement_, ++bound_, value);
    if (code != SQLITE_OK) connection_.fail(code);
    return *this;
}

Statement& Statement::bind(std::string_view value) {
    const char* const data = value.empty() ? "" : value.data();  // a null pointer would be NULL
    const int code = sqlite3_bind_text64(statement_, ++bound_, data, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    if (code != SQLITE_OK) connection_.fail(code);
    return *this;
}

Statement& Statement::bind_blob(std::string_view value) {
    const char* const data = value.empty() ? "" : value.data();
    const int code = sqlite3_bind_blob64(statement_, ++bound_, data, value.size(), SQLITE_TRANSIENT);
    if (code != SQLITE_OK) connection_.fail(code);
    return *this;
}

Statement& Statement::bind_null() {
    const int code = sqlite3_bind_null(statement_, ++bound_);
    if (code != SQLITE_OK) connection_.fail(code);
    return *this;
}

Statement& Statement::bind_column(const Statement& row, int column) {
    const int code = sqlite3_bind_value(statement_, ++bound_, sqlite3_column_value(row.statement_, column));
    if (code != SQLITE_OK) connection_.fail(code);
    return *this;
}

bool Statement::step() {
    const int code = sqlite3_step(statement_);
    if (code != SQLITE_ROW && code != SQLITE_DONE) connection_.fail(code);
    return code == SQLITE_ROW;
}

void Statement::run() {
    while (step()) {
    }
}

std::int64_t Statement::integer(int column) const {
    return sqlite3_column_int64(statement_, column);
}

double Statement::real(int column) const {
    return is_null(column) ? std::numeric_limits<double>::quiet_NaN() : sqlite3_column_double(statement_, column);
}

std::string Statement::text(int column) const {
    const unsigned char* const data = sqlite3_column_text(statement_, column);
    const int size = sqlite3_column_bytes(statement_, column);
    return data == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(data), size);
}

std::string Statement::blob(int column) const {
    const void* const data = sqlite3_column_blob(statement_, column);
    const int size = sqlite3_column_bytes(statement_, column);
    return data == nullptr ? std::string() : std::string(static_cast<const char*>(data), size);
}

bool Statement::is_null(int column) const {
    return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

Transaction::Transaction(Connection& connection) : connection_(connection) {
    connection_.begin_writing();
}

Transaction::~Transaction() {
    if (!open_) return;
    // A failure here means that SQLite has undone the transaction already. No exceptions: straight to the C interface.
    sqlite3_exec(connection_.handle_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
    connection_.query("COMMIT").run();
    open_ = false;
}

}  // namespace tconv::sqlite
