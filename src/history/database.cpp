// SPDX-License-Identifier: Apache-2.0
#include "history/database.h"

#include <sqlite3.h>

#include <utility>

namespace headroom::history {
namespace {

constexpr int wait_for_others_ms = 30'000;

Errc code_of(int result) {
  switch (result & 0xff) {  // The primary code; the rest says more of it.
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Errc::busy;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Errc::invalid;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_CANTOPEN:
      return Errc::no_permission;
    case SQLITE_FULL:
      return Errc::no_space;
    default:
      return Errc::io;
  }
}

Error error_of(sqlite3* database, int result) {
  const std::string said = database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(result);
  return {code_of(result), "SQLite: " + said, ""};
}

}  // namespace

void CloseDatabase::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);
}

void FinalizeStatement::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Statement& Statement::bind(const std::string& text) {
  const int result = sqlite3_bind_text64(statement_.get(), ++bound_, text.data(), text.size(),
                                         SQLITE_TRANSIENT, SQLITE_UTF8);
  if (result != SQLITE_OK && failed_ == SQLITE_OK) failed_ = result;
  return *this;
}

Statement& Statement::bind(std::optional<std::uint64_t> number) {
  const int result =
      number ? sqlite3_bind_int64(statement_.get(), ++bound_, static_cast<sqlite3_int64>(*number))
             : sqlite3_bind_null(statement_.get(), ++bound_);
  if (result != SQLITE_OK && failed_ == SQLITE_OK) failed_ = result;
  return *this;
}

Result<bool> Statement::step() {
  if (failed_ != SQLITE_OK) return error_of(database_, failed_);
  const int result = sqlite3_step(statement_.get());
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  return error_of(database_, result);
}

std::string Statement::text(int column) const {
  const auto* text = sqlite3_column_text(statement_.get(), column);
  if (text == nullptr) return "";
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  return {reinterpret_cast<const char*>(text), size};  // NOLINT: SQLite's text is unsigned char.
}

std::optional<std::uint64_t> Statement::number(int column) const {
  if (sqlite3_column_type(statement_.get(), column) != SQLITE_INTEGER) return std::nullopt;
  const sqlite3_int64 number = sqlite3_column_int64(statement_.get(), column);
  if (number < 0) return std::nullopt;
  return static_cast<std::uint64_t>(number);
}

Result<Database> Database::open(const std::string& path, Access access) {
  const int flags = access == Access::read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  sqlite3* opened = nullptr;
  const int result = sqlite3_open_v2(path.c_str(), &opened, flags, nullptr);
  Database database(opened);  // SQLite gives a handle even where opening failed.
  if (result != SQLITE_OK) return error_of(opened, result);
  sqlite3_busy_timeout(opened, wait_for_others_ms);
  return database;
}

Status Database::run(const std::string& sql) {
  const int result = sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (result != SQLITE_OK) return error_of(database_.get(), result);
  return Done{};
}

bool Database::is_in_transaction() const {
  return sqlite3_get_autocommit(database_.get()) == 0;
}

Result<Statement> Database::prepare(const std::string& sql) {
  sqlite3_stmt* prepared = nullptr;
  const int result = sqlite3_prepare_v2(database_.get(), sql.data(), static_cast<int>(sql.size()),
                                        &prepared, nullptr);
  if (result != SQLITE_OK) return error_of(database_.get(), result);
  return Statement(database_.get(), prepared);
}

Result<std::uint64_t> Database::read_number(const std::string& sql) {
  HEADROOM_TRY(Statement statement, prepare(sql));
  HEADROOM_TRY(const bool found, statement.step());
  return found ? statement.number(0).value_or(0) : 0;
}

Result<Transaction> Transaction::begin(Database& database, Database::Access access) {
  const bool reads = access == Database::Access::read_only;
  HEADROOM_CHECK(database.run(reads ? "BEGIN DEFERRED" : "BEGIN IMMEDIATE"));
  return Transaction(database);
}

Transaction::Transaction(Transaction&& other) noexcept
    : database_(std::exchange(other.database_, nullptr)) {}

Transaction::~Transaction() {
  if (database_ == nullptr) return;
  // There is nobody to tell; what is not committed is gone with the connection in any case.
  (void)database_->run("ROLLBACK").has_value();
}

Status Transaction::commit() {
  HEADROOM_CHECK(database_->run("COMMIT"));
  database_ = nullptr;
  return Done{};
}

}  // namespace headroom::history
