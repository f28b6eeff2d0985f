// A line for each window of a stream, as it comes.
//
//   follow URL           from the next window on, until the publisher's run ends
//   follow URL NUMBER    from window NUMBER on; of a folder of archives, to its last one
#include <chrono>
#include <iostream>
#include <string>

#include "libclient/subscriber.hpp"

namespace {

int fail(const std::string& what, const trama::FormatError& error) {
  std::cerr << what << ": " << error.text << ". " << error.hint << '\n';
  return 1;
}

void print_window(const trama::StreamWindow& window) {
  const trama::HyperCsr& matrix = window.matrix();
  std::cout << "window " << window.info().seq << ": " << window.info().packets << " packets on " << matrix.links()
            << " links from " << matrix.rows() << " sources, missed " << window.missed << std::endl;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::cerr << "usage: " << arguments[0] << " URL [NUMBER]\n";
    return 2;
  }
  trama::SubscribeOptions options;
  if (count > 2) {
    options.start = trama::StartKind::number;
    options.start_at = std::stoull(arguments[2]);
    options.follow = false;
  }
  auto subscriber = trama::Subscriber::open(arguments[1], options);
  if (!subscriber) return fail(arguments[1], subscriber.error());

  trama::Next next;
  do {
    next = subscriber->next(std::chrono::seconds(10));
    if (next.window) print_window(*next.window);
  } while (next.outcome == trama::Outcome::window || next.outcome == trama::Outcome::timeout);

  const trama::StreamCounts counts = subscriber->counts();
  std::cout << counts.windows << " windows, missed " << counts.missed << std::endl;
  return next.outcome == trama::Outcome::ended ? 0 : fail(arguments[1], next.error);
}
