# The dumbbell of README.md for ns-2.35 as Debian packages it. Prints one JSON line.
#
#   sender i --access-- left router ==bottleneck== right router --access-- receiver i
#
# Usage: ns dumbbell.tcl ?--flows N? ?--rate-mbps R? ... (the names of `option` below).
# SPDX-License-Identifier: Apache-2.0

# Rates in 10^6 bit/s, times as named; rtt-ms is propagation there and back without queues.
array set option {
    flows 1
    rate-mbps 10
    access-rate-mbps 100
    duration-s 60
    rtt-ms 40
    access-delay-ms 1
    stagger-ms 10
    monitor-hops 0
}
foreach {name value} $argv {
    set name [string range $name 2 end]
    if {![info exists option($name)] || $value eq ""} {
        puts stderr "dumbbell.tcl: --$name: unknown option or no value; known: [lsort [array names option]]"
        exit 2
    }
    set option($name) $value
}

set mss_bytes 1460
set mtu_bytes 1500
# Never the limit, as in dumbbell_ns3.cc: 2 MiB of window, and more queue than that before the bottleneck.
set window_packets [expr {2 * 1024 * 1024 / $mss_bytes}]
set access_queue_packets 10000

# A packet of ns-2 carries the headers of every protocol unless told otherwise; the usual remedy
# more than halves the memory.
remove-all-packet-headers
add-packet-header IP TCP Flags
set ns [new Simulator]

# packetSize_ is the payload; with useHeaders_ (the default) 40 bytes are added, so a link counts 1500.
Agent/TCP set packetSize_ $mss_bytes
Agent/TCP set window_ $window_packets
Agent/TCP set windowInit_ 10
Agent/TCP set minrto_ 1.0
Agent/TCPSink set packetSize_ 40
Agent/TCPSink/DelAck set interval_ 200ms
Agent/TCPSink/Sack1/DelAck set interval_ 200ms

proc link {a b rate_mbps delay_ms queue_packets} {
    global ns
    $ns duplex-link $a $b ${rate_mbps}Mb ${delay_ms}ms DropTail
    $ns queue-limit $a $b $queue_packets
    $ns queue-limit $b $a $queue_packets
}

# Counts only the drops of the queue from a to b, so that the packets that pass cost nothing.
proc drop_counter {a b} {
    global ns
    set counter [new QueueMonitor]
    set snoop [new SnoopQueue/Drop]
    $snoop set-monitor $counter
    $snoop target [$ns set nullAgent_]
    [[$ns link $a $b] queue] drop-target $snoop
    return $counter
}

set middle_delay_ms [expr {$option(rtt-ms) / 2.0 - 2.0 * $option(access-delay-ms)}]
set bdp_packets [expr {int($option(rate-mbps) * 1e6 * $option(rtt-ms) / 1e3 / 8 / $mtu_bytes)}]
if {$bdp_packets < 1} { set bdp_packets 1 }

set left [$ns node]
set right [$ns node]
link $left $right $option(rate-mbps) $middle_delay_ms $bdp_packets

for {set i 0} {$i < $option(flows)} {incr i} {
    set sender [$ns node]
    set receiver [$ns node]
    link $sender $left $option(access-rate-mbps) $option(access-delay-ms) $access_queue_packets
    link $right $receiver $option(access-rate-mbps) $option(access-delay-ms) $access_queue_packets

    set tcp($i) [new Agent/TCP/Sack1]
    set sink($i) [new Agent/TCPSink/Sack1/DelAck]
    $ns attach-agent $sender $tcp($i)
    $ns attach-agent $receiver $sink($i)
    $ns connect $tcp($i) $sink($i)
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($i)
    $ns at [expr {$i * $option(stagger-ms) / 1e3}] "$ftp start"
    lappend access_links [list $sender $left] [list $right $receiver]
}

# The check of the hops computed below: a monitor on every link counts departures. Slow.
set monitors {}
if {$option(monitor-hops)} {
    foreach pair [concat [list [list $left $right]] $access_links] {
        foreach {a b} $pair break
        lappend monitors [$ns monitor-queue $a $b ""] [$ns monitor-queue $b $a ""]
    }
}
set forward_drops [drop_counter $left $right]
set reverse_drops [drop_counter $right $left]

# Peak resident bytes of this program since it was started (0 where /proc is missing).
proc peak_rss_bytes {} {
    if {[catch {open /proc/self/status} file]} { return 0 }
    set text [read $file]
    close $file
    if {![regexp {VmHWM:\s+(\d+)} $text -> kib]} { return 0 }
    return [expr {$kib * 1024}]
}

# Every data packet crosses the sender's link; those the bottleneck did not drop cross two more. Every ACK
# that came back crossed three. What is under way at the end is counted as if delivered if it is data and
# not at all if it is an ACK: 0.2 % too many in the longer case of README.md (--monitor-hops 1 shows it).
proc finish {} {
    global ns option tcp sink mss_bytes mtu_bytes forward_drops reverse_drops monitors
    set data 0
    set acks 0
    set delivered 0
    for {set i 0} {$i < $option(flows)} {incr i} {
        incr data [$tcp($i) set ndatapack_]
        incr acks [$tcp($i) set nackpack_]
        # bytes_ counts whole packets, headers too, that the receiver could put in order.
        incr delivered [expr {[$sink($i) set bytes_] / $mtu_bytes * $mss_bytes}]
    }
    set lost [$forward_drops set pdrops_]
    set lost_acks [$reverse_drops set pdrops_]
    set hops [expr {3 * $data - 2 * $lost + 3 * $acks + $lost_acks}]
    if {[llength $monitors]} {
        set seen 0
        foreach monitor $monitors { incr seen [$monitor set pdepartures_] }
        puts stderr "packet-hops: computed $hops, departures seen by monitors $seen"
    }
    set goodput_bps [format %.0f [expr {$delivered * 8.0 / $option(duration-s)}]]
    puts "{\"simulator\": \"ns-2\", \"flows\": $option(flows), \"goodput_bps\": $goodput_bps,\
\"packet_hops\": $hops, \"events\": null, \"sim_seconds\": $option(duration-s),\
\"peak_rss_bytes\": [peak_rss_bytes]}"
    exit 0
}

$ns at $option(duration-s) finish
$ns run
