// Datagrams by a list, over one link, for ns-3.37 as Debian packages it. Prints one JSON line as the dumbbell does.
//
//   left ==link== right
//
// The list has a line for each datagram: which end sends it (0 or 1), when in nanoseconds, and its UDP payload in bytes;
// those of an end are in order. It is what an application has sent elsewhere: nothing here decides anything.
// SPDX-License-Identifier: Apache-2.0

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-helper.h"

#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint16_t PORT = 5004;

struct Datagram
{
    int64_t atNs;
    uint32_t bytes;
};

// An end: sends what its list says, and counts what comes.
class End
{
  public:
    void Open(Ptr<Node> node, Ipv4Address far)
    {
        m_socket = Socket::CreateSocket(node, UdpSocketFactory::GetTypeId());
        m_socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
        m_socket->Connect(InetSocketAddress(far, PORT));
        m_socket->SetRecvCallback(MakeCallback(&End::Receive, this));
        Next();
    }

    std::vector<Datagram> list;
    uint64_t receivedBytes = 0;

  private:
    void Next()
    {
        if (m_next < list.size())
        {
            Simulator::Schedule(NanoSeconds(list[m_next].atNs) - Simulator::Now(), &End::Send, this);
        }
    }

    void Send()
    {
        m_socket->Send(Create<Packet>(list[m_next].bytes));
        ++m_next;
        Next();
    }

    void Receive(Ptr<Socket> socket)
    {
        while (Ptr<Packet> packet = socket->Recv())
        {
            receivedBytes += packet->GetSize();
        }
    }

    Ptr<Socket> m_socket;
    size_t m_next = 0;
};

uint64_t g_hops = 0; // packets that reached the far end of the link

void
CountHop(Ptr<const Packet>)
{
    ++g_hops;
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
    std::string path;
    double rateMbps = 2;
    double delayMs = 50;
    double durationS = 60;
    uint32_t queueBytes = 75000;
    CommandLine cmd(__FILE__);
    cmd.AddValue("list", "file of datagrams", path);
    cmd.AddValue("rate-mbps", "of the link, in 10^6 bit/s", rateMbps);
    cmd.AddValue("delay-ms", "of the link, one way", delayMs);
    cmd.AddValue("duration-s", "simulated seconds", durationS);
    cmd.AddValue("queue-bytes", "room before the link, either way", queueBytes);
    cmd.Parse(argc, argv);

    std::array<End, 2> ends;
    std::ifstream lines(path);
    NS_ABORT_MSG_IF(!lines, "--list: cannot be read");
    uint32_t end = 0;
    for (Datagram datagram; lines >> end >> datagram.atNs >> datagram.bytes;)
    {
        NS_ABORT_MSG_IF(end > 1, "--list: an end is 0 or 1");
        ends[end].list.push_back(datagram);
    }
    NS_ABORT_MSG_IF(ends[0].list.empty(), "--list: has no datagram");

    NodeContainer nodes(2);
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.Install(nodes);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(uint64_t(rateMbps * 1e6))));
    link.SetChannelAttribute("Delay", TimeValue(Seconds(delayMs / 1e3)));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", QueueSizeValue(QueueSize(BYTES, queueBytes)));
    const NetDeviceContainer devices = link.Install(nodes);
    const Ipv4InterfaceContainer addresses = Ipv4AddressHelper("10.0.0.0", "255.255.255.252").Assign(devices);
    // Assign() puts an FqCoDel above each drop-tail queue, which is no part of the scenario.
    TrafficControlHelper().Uninstall(devices);
    for (uint32_t i = 0; i < 2; ++i)
    {
        ends[i].Open(nodes.Get(i), addresses.GetAddress(1 - i));
        devices.Get(i)->TraceConnectWithoutContext("PhyRxEnd", MakeCallback(&CountHop));
    }

    Simulator::Stop(Seconds(durationS));
    Simulator::Run();
    std::printf("{\"simulator\": \"ns-3\", \"goodput_bps\": %.1f, \"packet_hops\": %" PRIu64
                ", \"events\": %" PRIu64 ", \"sim_seconds\": %g, \"peak_rss_bytes\": %" PRIu64 "}\n",
                double(ends[1].receivedBytes) * 8 / durationS,
                g_hops,
                Simulator::GetEventCount(),
                durationS,
                PeakRssBytes());
    Simulator::Destroy();
    return 0;
}
