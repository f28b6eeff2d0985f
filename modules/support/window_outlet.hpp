// The way that windows leave by: one class for each kind of URL that the stage `publish` takes.
#pragma once
#include <functional>
#include <memory>
#include <optional>

#include "engine/diagnostic.hpp"
#include "libclient/formats/envelope.hpp"
#include "modules/support/outlet_report.hpp"

namespace trama {

// All of it is called by the one thread that has made it, and may throw.
class WindowOutlet {
 public:
  virtual ~WindowOutlet() = default;
  // Takes a copy, with run and stream set. Numbers ascend. False: longer than this stage may send; subscribers are told
  // that the number was lost.
  virtual bool publish(const Envelope& envelope) = 0;
  // This window has been lost before it could be published.
  virtual void pass(uint64_t seq) = 0;
  // Does what is to be done, until `wake_fd` is readable, or for a moment. Called again and again.
  virtual void serve(int wake_fd) = 0;
  // No more windows come: what is left goes out, for as long as that.
  virtual void finish(int linger_ms) = 0;
  // Where it goes, for people.
  virtual std::string url() const = 0;
  virtual OutletCounts counts() const = 0;
  // What became of it all, if anything did.
  virtual std::optional<Diagnostic> account() const = 0;
};

using SayDiagnostic = std::function<void(Diagnostic)>;
using MakeOutlet = std::function<std::unique_ptr<WindowOutlet>(const SayDiagnostic& say)>;

}  // namespace trama
