// SPDX-License-Identifier: Apache-2.0
// Everything with which one SERVICE.toml is deployed or tuned: the machine, the records, the lock,
// the service, its requests and the change engine, made once and handed to each driver that works
// there.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "deploy/deployer.h"
#include "deploy/spec.h"
#include "machine/services/running_program.h"
#include "machine/writable_files.h"
#include "service/ask.h"
#include "service/deployment.h"
#include "service/driver.h"
#include "service/places.h"

namespace headroom::service {

// The folder of a file; of a name without a folder it is nothing.
std::string folder_of(const std::string& file);

// One thread. `order` and `files` must outlive this.
class Workplace {
 public:
  Workplace(const DeployOrder& order, machine::WritableFiles& files);

  // Whether anything may be done here at all: not on a machine that is only a folder.
  bool acts() const { return acts_; }
  const DeployOrder& order() const { return order_; }
  const Places& places() const { return places_; }
  const MachineLook& machine() const { return *machine_; }
  machine::Service* service() const { return service_.get(); }
  ServiceChange& engine() const { return *engine_; }

  // What check knows of the machine, and the log rules for it. Before anything below.
  Status look();
  // The service as it is managed, and what changes its files.
  Status make_hands(const deploy::ServiceSpec& spec, const std::string& file);
  // How it is asked. `spec` must outlive the answer.
  Result<std::unique_ptr<Asker>> make_asker(const deploy::ServiceSpec& spec,
                                            const std::string& folder,
                                            const std::optional<std::string>& body) const;
  // Makes the folder of the records, and takes the lock. It is held until this goes.
  Status take_lock();
  // Fails with busy where an earlier change has to be undone first. Then leaves the session, and
  // keeps what the way back needs.
  Status begin_acting(const std::optional<std::string>& body);

  deploy::Options options(const std::string& file) const;
  // Without places and asker: with them it acts.
  Workshop workshop(const deploy::ServiceSpec& spec, const GateQuestion& gate,
                    const plan::Change& change) const;

  // What the record of an earlier deployment says was begun, finished; nothing where there is none.
  Result<std::optional<DeployDone>> finish_earlier();
  // Finishes what `record` says. Requires: the lock. `signals`: held by the caller at the end of
  // its own trials, of which no post-mortem is filed; else null.
  Result<DeployDone> resume(const deploy::Record& record, machine::HeldSignals* signals);

 private:
  void leave_session() const;

  const DeployOrder& order_;
  machine::WritableFiles& files_;
  Places places_;
  bool acts_;
  std::optional<machine::Descriptor> lock_;
  std::unique_ptr<MachineLook> machine_;
  std::unique_ptr<LogLook> logs_;
  std::shared_ptr<machine::OwnCommands> own_ = std::make_shared<machine::OwnCommands>();
  std::unique_ptr<machine::Service> service_;
  std::unique_ptr<ServiceChange> engine_;
  std::unique_ptr<BootUnit> boot_unit_;
};

// Calls the order's before_each before every operation on a file.
void watch_files(machine::WritableFiles& files, const DeployOrder& order);

}  // namespace headroom::service
