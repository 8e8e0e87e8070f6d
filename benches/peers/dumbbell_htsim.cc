// The dumbbell of README.md on csg-htsim (https://github.com/Broadcom/csg-htsim), whose sources are compiled with this file.
//
// csg-htsim has queues and pipes, and a TCP without SACK whose sink acknowledges every packet. A packet's size is that
// of its segment: 1500 bytes, of which 1460 are taken for data, as with the other peers.
// SPDX-License-Identifier: Apache-2.0

#include "config.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <vector>

#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "tcp.h"

namespace {

const uint64_t kPacketBytes = 1500;
const uint64_t kSegmentBytes = 1460;
const uint64_t kAccessMbps = 100;
const uint64_t kAccessPackets = 10000;
const double kAccessMs = 1;
const double kBottleneckMs = 18;
const double kRoundTripMs = 40;
const double kStaggerMs = 10;
const uint64_t kWindow = 2 << 20;

/// A pipe that counts what it takes in: what a queue has served.
class Counted : public Pipe {
 public:
  Counted(double ms, EventList& events) : Pipe(timeFromMs(ms), events) {}
  void receivePacket(Packet& packet) override {
    ++entered;
    Pipe::receivePacket(packet);
  }
  /// Packets that have reached the far end.
  uint64_t left() const { return entered - _count; }

 private:
  uint64_t entered = 0;
};

/// One direction of a link.
struct Link {
  Queue queue;
  Counted pipe;

  Link(uint64_t mbps, uint64_t packets, double ms, EventList& events)
      : queue(speedFromMbps(mbps), packets * kPacketBytes, events, nullptr), pipe(ms, events) {}

  void append_to(Route& route) {
    route.push_back(&queue);
    route.push_back(&pipe);
  }
};

uint64_t argument(int argc, char** argv, const char* name) {
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!strcmp(argv[i], name)) {
      char* end;
      const uint64_t value = strtoull(argv[i + 1], &end, 10);
      if (*argv[i + 1] && !*end && value) return value;
      std::cerr << name << " " << argv[i + 1] << " is no whole number above zero\n";
      exit(2);
    }
  }
  std::cerr << name << " N is missing\n";
  exit(2);
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t flows = argument(argc, argv, "--flows");
  const uint64_t rate = argument(argc, argv, "--rate-mbps");
  const uint64_t seconds = argument(argc, argv, "--duration-s");

  EventList& events = EventList::getTheEventList();
  EventList::setEndtime(timeFromSec(static_cast<double>(seconds)));
  Packet::set_packet_size(kPacketBytes);
  TcpRtxTimerScanner timers(timeFromMs(10.0), events);

  const auto product = static_cast<uint64_t>(rate * 1e6 * kRoundTripMs / 1e3 / 8 / kPacketBytes);
  std::vector<std::unique_ptr<Link>> links;
  const auto link = [&](uint64_t mbps, uint64_t packets, double ms) {
    links.push_back(std::make_unique<Link>(mbps, packets, ms, events));
    return links.back().get();
  };
  const auto access = [&] { return link(kAccessMbps, kAccessPackets, kAccessMs); };
  Link* there = link(rate, product, kBottleneckMs);
  Link* back = link(rate, product, kBottleneckMs);

  std::vector<std::unique_ptr<TcpSrc>> senders;
  std::vector<std::unique_ptr<TcpSink>> receivers;
  std::vector<std::unique_ptr<Route>> routes;
  for (uint64_t i = 0; i < flows; ++i) {
    senders.push_back(std::make_unique<TcpSrc>(nullptr, nullptr, events));
    receivers.push_back(std::make_unique<TcpSink>());
    TcpSrc& sender = *senders.back();
    sender.set_ssthresh(kWindow);
    sender._maxcwnd = kWindow;
    timers.registerTcp(sender);
    Route& out = *routes.emplace_back(std::make_unique<Route>());
    Route& home = *routes.emplace_back(std::make_unique<Route>());
    for (Link* each : {access(), there, access()}) each->append_to(out);
    for (Link* each : {access(), back, access()}) each->append_to(home);
    out.push_back(receivers.back().get());
    home.push_back(&sender);
    sender.connect(out, home, *receivers.back(), timeFromMs(kStaggerMs * static_cast<double>(i)));
  }

  while (EventList::doNextEvent()) {
  }

  uint64_t bytes = 0, hops = 0;
  for (const auto& receiver : receivers) bytes += receiver->_cumulative_ack / kPacketBytes * kSegmentBytes;
  for (const auto& each : links) hops += each->pipe.left();
  // The library has printed of its timers to the same stream.
  std::cout << std::flush;
  printf(
      "{\"simulator\": \"csg-htsim\", \"flows\": %llu, \"goodput_bps\": %.1f, \"packet_hops\": %llu, \"events\": null, "
      "\"sim_seconds\": %llu}\n",
      static_cast<unsigned long long>(flows), static_cast<double>(bytes) * 8 / static_cast<double>(seconds),
      static_cast<unsigned long long>(hops), static_cast<unsigned long long>(seconds));
  return 0;
}
