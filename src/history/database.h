// SPDX-License-Identifier: Apache-2.0
// SQLite in the house's terms: RAII, and errors as values. Only history/ uses it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace headroom::history {

struct CloseDatabase {
  void operator()(sqlite3* database) const;
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const;
};

// One prepared statement. Columns are numbered from 0, parameters from 1 in the order of bind().
class Statement {
 public:
  Statement& bind(const std::string& text);
  Statement& bind(std::optional<std::uint64_t> number);  // NULL for nothing.

  // True while there is a row. Fails as Database::error() says.
  Result<bool> step();

  std::string text(int column) const;  // "" for NULL.
  std::optional<std::uint64_t> number(int column) const;

 private:
  friend class Database;
  Statement(sqlite3* database, sqlite3_stmt* statement)
      : database_(database), statement_(statement) {}

  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, FinalizeStatement> statement_;
  int bound_ = 0;
  int failed_ = 0;  // The first result of a bind() that was not SQLITE_OK.
};

class Database {
 public:
  enum class Access : std::uint8_t { read_only, read_write };

  // Opens a file that exists. Others that hold it are waited for, up to half a minute: SQLite is
  // not fair to those that wait, and on a slow disk each write takes tenths of a second.
  static Result<Database> open(const std::string& path, Access access);

  // Fails with busy where another process holds the file, invalid where it is damaged or no
  // database, no_permission where it cannot be written, no_space, and io otherwise.
  Status run(const std::string& sql);
  bool is_in_transaction() const;
  Result<Statement> prepare(const std::string& sql);
  // The first column of the first row.
  Result<std::uint64_t> read_number(const std::string& sql);

 private:
  explicit Database(sqlite3* database) : database_(database) {}

  std::unique_ptr<sqlite3, CloseDatabase> database_;
};

// What is read within is of one moment; what is written is taken back unless commit() is reached.
class Transaction {
 public:
  // With read_write the right to write is taken at once, so that two writers wait for each other
  // instead of failing.
  static Result<Transaction> begin(Database& database, Database::Access access);
  Transaction(Transaction&& other) noexcept;
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Status commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}

  Database* database_;
};

}  // namespace headroom::history
