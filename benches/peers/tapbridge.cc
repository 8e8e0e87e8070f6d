// Two real hosts on one simulated link in ns-3's real time: what voxpath's real-time network is compared with.
//
//   tapbridge LEFT RIGHT DELAY_MS
//
// The taps LEFT and RIGHT exist in the network namespace that it runs in, with addresses that must not change; it
// says "ready" when it has opened both, after which they may move to the namespaces of their hosts. It ends by SIGTERM.
//
// SPDX-License-Identifier: Apache-2.0

#include "ns3/core-module.h"
#include "ns3/network-module.h"
#include "ns3/tap-bridge-module.h"

#include <iostream>

using namespace ns3;

int main(int argc, char** argv) {
    if (argc != 4) {
        std::cerr << "usage: tapbridge LEFT RIGHT DELAY_MS\n";
        return 2;
    }
    GlobalValue::Bind("SimulatorImplementationType", StringValue("ns3::RealtimeSimulatorImpl"));
    // Without it every packet that a kernel sends is one of a wrong checksum to ns-3.
    GlobalValue::Bind("ChecksumEnabled", BooleanValue(true));

    NodeContainer nodes;
    nodes.Create(2);
    // The simplest link that ns-3 has: no rate, no queue worth the name, a delay.
    SimpleNetDeviceHelper link;
    link.SetChannelAttribute("Delay", StringValue(std::string(argv[3]) + "ms"));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("100000p"));
    NetDeviceContainer devices = link.Install(nodes);

    TapBridgeHelper taps;
    taps.SetAttribute("Mode", StringValue("UseLocal"));
    for (uint32_t i = 0; i < 2; i++) {
        taps.SetAttribute("DeviceName", StringValue(argv[1 + i]));
        taps.Install(nodes.Get(i), devices.Get(i));
    }
    Simulator::Schedule(MilliSeconds(200), [] { std::cout << "ready" << std::endl; });
    Simulator::Run();
    Simulator::Destroy();
    return 0;
}
