// The dumbbell of README.md for ns-3.37 as Debian packages it. Prints one JSON line.
//
//   sender i --access-- left router ==bottleneck== right router --access-- receiver i
//
// Read main() first: it is the scenario in order. Units are in the names.
// SPDX-License-Identifier: Apache-2.0

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/nix-vector-helper.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-helper.h"

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

using namespace ns3;

namespace
{

constexpr uint32_t MSS_BYTES = 1460;
constexpr uint32_t MTU_BYTES = 1500;
constexpr uint16_t PORT = 5001;
// Never the limit: the window is larger than any congestion window here, and the access queue
// holds more packets than a window, so the bottleneck is the only place that drops.
constexpr uint32_t WINDOW_BYTES = 2 << 20;
constexpr uint32_t ACCESS_QUEUE_PACKETS = 10000;

struct Options
{
    uint32_t flows = 1;
    double rateMbps = 10;        // bottleneck, 10^6 bit/s
    double accessRateMbps = 100; // each access link, 10^6 bit/s
    double durationS = 60;       // simulated
    double rttMs = 40;           // propagation there and back, without serialisation or queues
    double accessDelayMs = 1;    // one way, each of the two access links
    double staggerMs = 10;       // flow i starts at i times this
    std::string routing = "nix";
    bool countHops = true;
};

Options
ParseOptions(int argc, char* argv[])
{
    Options o;
    CommandLine cmd(__FILE__);
    cmd.AddValue("flows", "number of senders", o.flows);
    cmd.AddValue("rate-mbps", "bottleneck rate in 10^6 bit/s", o.rateMbps);
    cmd.AddValue("access-rate-mbps", "rate of each access link in 10^6 bit/s", o.accessRateMbps);
    cmd.AddValue("duration-s", "simulated seconds", o.durationS);
    cmd.AddValue("rtt-ms", "propagation there and back in ms", o.rttMs);
    cmd.AddValue("access-delay-ms", "one-way delay of each access link in ms", o.accessDelayMs);
    cmd.AddValue("stagger-ms", "flow i starts at i times this, in ms", o.staggerMs);
    cmd.AddValue("routing", "nix (the fastest) or global (the usual)", o.routing);
    cmd.AddValue("count-hops", "count packets at every link's far end", o.countHops);
    cmd.Parse(argc, argv);
    NS_ABORT_MSG_IF(o.flows == 0 || o.flows > 60000, "--flows must be 1 to 60000");
    NS_ABORT_MSG_IF(o.routing != "nix" && o.routing != "global", "--routing: unknown");
    return o;
}

void
SetTcpDefaults()
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(MSS_BYTES));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(WINDOW_BYTES));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(WINDOW_BYTES));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    // On by default, and then 1460 bytes of payload silently become two IP fragments.
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
}

uint64_t g_hops = 0; // packets that reached the far end of a link

void
CountHop(Ptr<const Packet>)
{
    ++g_hops;
}

// One full-duplex link with a drop-tail queue of `queuePackets` at either end.
NetDeviceContainer
Link(Ptr<Node> a, Ptr<Node> b, double rateMbps, double delayMs, uint32_t queuePackets)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(uint64_t(rateMbps * 1e6))));
    link.SetDeviceAttribute("Mtu", UintegerValue(MTU_BYTES));
    link.SetChannelAttribute("Delay", TimeValue(Seconds(delayMs / 1e3)));
    link.SetQueue("ns3::DropTailQueue<Packet>",
                  "MaxSize",
                  QueueSizeValue(QueueSize(PACKETS, queuePackets)));
    return link.Install(a, b);
}

// Gives the link a /30. Assign() also puts an FqCoDel above each drop-tail queue; it would hide
// the drops and is no part of the scenario, so it is taken away again.
Ipv4InterfaceContainer
Number(Ipv4AddressHelper& pool, const NetDeviceContainer& devices)
{
    Ipv4InterfaceContainer addresses = pool.Assign(devices);
    pool.NewNetwork();
    TrafficControlHelper().Uninstall(devices);
    return addresses;
}

// Peak resident bytes of this program since it was started (0 where /proc is missing).
uint64_t
PeakRssBytes()
{
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
    {
        if (word == "VmHWM:")
        {
            uint64_t kib = 0;
            status >> kib;
            return kib * 1024;
        }
    }
    return 0;
}

} // namespace

int
main(int argc, char* argv[])
{
    const Options o = ParseOptions(argc, argv);
    SetTcpDefaults();

    const double middleDelayMs = o.rttMs / 2 - 2 * o.accessDelayMs;
    NS_ABORT_MSG_IF(middleDelayMs < 0, "--rtt-ms is too short for the access links");
    const double bdpPackets = o.rateMbps * 1e6 * o.rttMs / 1e3 / 8 / MTU_BYTES;
    const uint32_t queuePackets = std::max<uint32_t>(1, uint32_t(bdpPackets));

    NodeContainer routers(2);
    NodeContainer senders(o.flows);
    NodeContainer receivers(o.flows);
    InternetStackHelper stack;
    if (o.routing == "nix")
    {
        stack.SetRoutingHelper(Ipv4NixVectorHelper());
    }
    stack.SetIpv6StackInstall(false); // no neighbour discovery: the peers have none
    stack.InstallAll();

    Ipv4AddressHelper pool("10.0.0.0", "255.255.255.252");
    Number(pool,
           Link(routers.Get(0), routers.Get(1), o.rateMbps, middleDelayMs, queuePackets));
    auto access = [&](Ptr<Node> a, Ptr<Node> b) {
        return Number(pool, Link(a, b, o.accessRateMbps, o.accessDelayMs, ACCESS_QUEUE_PACKETS));
    };

    ApplicationContainer sinks;
    for (uint32_t i = 0; i < o.flows; ++i)
    {
        access(senders.Get(i), routers.Get(0));
        const Ipv4Address receiver = access(routers.Get(1), receivers.Get(i)).GetAddress(1);

        PacketSinkHelper sink("ns3::TcpSocketFactory",
                              InetSocketAddress(Ipv4Address::GetAny(), PORT));
        sinks.Add(sink.Install(receivers.Get(i)));

        BulkSendHelper source("ns3::TcpSocketFactory",
                              InetSocketAddress(receiver, PORT));
        source.SetAttribute("MaxBytes", UintegerValue(0)); // unlimited
        source.SetAttribute("SendSize", UintegerValue(MSS_BYTES));
        source.Install(senders.Get(i)).Start(Seconds(i * o.staggerMs / 1e3));
    }

    if (o.routing == "global")
    {
        Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    }
    if (o.countHops)
    {
        Config::ConnectWithoutContext(
            "/NodeList/*/DeviceList/*/$ns3::PointToPointNetDevice/PhyRxEnd",
            MakeCallback(&CountHop));
    }

    Simulator::Stop(Seconds(o.durationS));
    Simulator::Run();

    uint64_t deliveredBytes = 0;
    for (uint32_t i = 0; i < sinks.GetN(); ++i)
    {
        deliveredBytes += DynamicCast<PacketSink>(sinks.Get(i))->GetTotalRx();
    }
    // Not counting gives null, which the reader must not take for a count.
    const std::string hops = o.countHops ? std::to_string(g_hops) : "null";
    std::printf("{\"simulator\": \"ns-3\", \"flows\": %" PRIu32 ", \"goodput_bps\": %.0f, "
                "\"packet_hops\": %s, \"events\": %" PRIu64 ", \"sim_seconds\": %g, "
                "\"peak_rss_bytes\": %" PRIu64 "}\n",
                o.flows,
                deliveredBytes * 8 / o.durationS,
                hops.c_str(),
                Simulator::GetEventCount(),
                o.durationS,
                PeakRssBytes());
    Simulator::Destroy();
    return 0;
}
