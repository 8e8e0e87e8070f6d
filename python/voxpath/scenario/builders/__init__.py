"""One builder per kind of topology: from the scenario's table to a `Network`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voxpath.scenario.builders.dumbbell import build_dumbbell
from voxpath.scenario.builders.explicit import build_explicit
from voxpath.scenario.builders.medium import build_medium
from voxpath.scenario.builders.multipath import build_multipath
from voxpath.scenario.builders.parking_lot import build_parking_lot
from voxpath.scenario.builders.pipe import build_pipe
from voxpath.scenario.builders.star import build_star
from voxpath.scenario.topology import Dumbbell, Explicit, Medium, Multipath, ParkingLot, Pipe, Star

if TYPE_CHECKING:
    from voxpath.scenario.network import Network
    from voxpath.scenario.topology import Topology


def build(topology: Topology) -> Network:
    """Spells out a topology; what is wrong with it stands in the network's problems."""
    match topology:
        case Pipe():
            return build_pipe(topology)
        case Dumbbell():
            return build_dumbbell(topology)
        case Star():
            return build_star(topology)
        case Medium():
            return build_medium(topology)
        case Multipath():
            return build_multipath(topology)
        case ParkingLot():
            return build_parking_lot(topology)
        case Explicit():
            return build_explicit(topology)
