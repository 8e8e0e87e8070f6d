"""Misprints and contradictions, each computed from printed numbers alone."""

from __future__ import annotations

from voxpath.document import Table
from voxpath.studies.hoang2017.printed import (
    expected_loss,
    mean_available,
    published,
    setting,
    statuses,
    table3,
)

MTU = 1500
"""Octets of the largest packet that the Internet carries."""

EVEN = 0.5


def total_by_tfs(column: int) -> float:
    """The total that Table 3's definition of TFS implies, in kbit/s: TFS = TCP / (total / flows)."""
    tcp, tfs = table3("tcp", column)[0].printed, table3("tfs", column)[0].printed
    return tcp * (int(published()["table3"]["tcp_flows"]) + 1) / (tfs / 100)


def tfs_contradicts(column: int) -> str:
    """Why the printed TFS cannot come from its definition."""
    goodput = table3("goodput", column)[0].printed
    return (
        f"the definition implies a total of {total_by_tfs(column):.0f} kbit/s of six flows, less than the "
        f"{goodput:.0f} kbit/s printed as goodput"
    )


def longest_session_s() -> float:
    """How long the printed number of packets lasts at the initial rate, if each fits an Ethernet frame."""
    return setting("table7", "Numbers of RTP packets") * MTU * 8 / setting("table7", "Initial sending rate")


def packet_for(reports: float) -> float:
    """How large a packet must be for the session to see so many reports, in octets."""
    seconds = reports * setting("table7", "RTCP interval")
    return (
        seconds * setting("table7", "Initial sending rate") / 8 / setting("table7", "Numbers of RTP packets")
    )


def table() -> Table:
    """All of them."""
    made = published()
    mean = made["section4_1"]["mean_estimate_bps"]
    udp = made["section4_1"]["udp_bps"]
    idle = statuses()["Idle"]
    lost, udp_lost = expected_loss(mean, EVEN), expected_loss(udp, EVEN)
    rows = [
        [
            "Section 3.4.3.1 has K_d = 0.01 and K_u = 0.00018.",
            (
                f"Swapped: Table 6 has K_u = {setting('table6', 'K_u'):g} and K_d = "
                f"{setting('table6', 'K_d'):g}, as draft-ietf-rmcat-gcc-02."
            ),
        ],
        ["gamma_1, del_val_th and del_var_th", "One variable."],
        [f"Beta is {setting('table6', 'Beta'):g}.", "Section 2.2.2.3 and the draft recommend 0.85."],
        [
            "T is the window of the loss ratio (Table 6).",
            "It is that of the incoming rate (section 3.4.3.1).",
        ],
        [
            "d(i) = ... + dL(i)/C(i) + m(i) + v(i)",
            "The chain repeats a term, and is the older model of two states.",
        ],
        ["As = 1.05 As + 1000 below 2 % of loss", "draft-ietf-rmcat-gcc-02 has no 1000."],
        ["R(i) = 1/T * sum(size * N(i))", "The sum of the N(i) sizes, over T: N is not a factor."],
        [
            f"RTCP every {setting('table7', 'RTCP interval'):g} s",
            "The draft wants feedback every 30 to 100 ms.",
        ],
        [
            "A lost packet has the delay variation of the one before; the filter is PyKalman's.",
            "Neither is the draft's.",
        ],
        [
            f"{setting('table7', 'Numbers of RTP packets'):.0f} packets, their size not printed",
            (
                f"At most {longest_session_s():.2f} s at the initial rate, if each fits a frame: less "
                "than one RTCP interval, so no report would come in time. Figures of 20 reports need packets "
                f"of {packet_for(20):,.0f} octets."
            ),
        ],
        [
            "The 25 % of Table 8 are of two statuses.",
            (
                f"The split is not printed. The mean available rate is {mean_available(0) / 1e6:.2f} to "
                f"{mean_available(1) / 1e6:.2f} Mbit/s."
            ),
        ],
        [
            f"The mean estimate is {mean / 1e6:.2f} Mbit/s.",
            (
                f"The largest capacity is {idle / 1e6:.2f}, the mean "
                f"{mean_available(EVEN) / 1e6:.2f} Mbit/s. At the printed mean {lost:.0%} are lost, "
                f"{udp_lost:.0%} of UDP's {udp / 1e6:.1f} Mbit/s: UDP loses {udp_lost / lost:.2f} times as "
                'much, not "2 to 3 times".'
            ),
        ],
        [
            "Loss is below 20 % most of the time.",
            (
                f"In the idle status {1 - idle / mean:.1%} of the printed mean are lost, and "
                f"{1 - idle / udp:.1%} of UDP; it holds for any sender below 7.2 Mbit/s."
            ),
        ],
        [
            "TFS of 151 % and 72 % (Table 3)",
            "; ".join(f"{made['table3']['columns'][column]}: {tfs_contradicts(column)}" for column in (0, 1))
            + ".",
        ],
    ]
    return Table("Misprints and contradictions", ["printed", "right, or what follows"], rows)
