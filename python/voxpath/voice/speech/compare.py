"""The service measured on real hosts and simulated, utterance by utterance, across the same network.

Real are master, worker and client, each a program on a host of the network; simulated is the same session,
with what `profile.py` recorded. The delay of a result is compared as a whole and by its shares: what the
network adds is the simulator's affair, what decoding takes is the recogniser's, which takes longer for one
utterance than for another, and on one day than on another.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import voxpath
from voxpath.scenario import from_dict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_HOSTS = {"client": {"profile": "linux", "real": True}, "server": {"profile": "linux", "real": True}}
_PORT = 8888
_SPEECH = (sys.executable, "-m", "voxpath", "speech")
SERVE = (*_SPEECH, "serve", "--host", "0.0.0.0", "--insecure", "--workers", "1", "--wait", "60", "--port")  # noqa: S104 - of a namespace
"""One worker of ours, for which the next session waits while it connects anew."""


_ATTEMPTS = 3
"""How often sessions are measured until the emulated network was in time."""


class MeasurementError(Exception):
    """The service did not do what was to be measured."""


@dataclass(frozen=True)
class Sending:
    """How audio is sent."""

    paced: bool = True
    block_s: float = 0.25


@dataclass(frozen=True)
class Delay:
    """Of the last final result, in seconds."""

    latency_s: float
    """From when the last speech was sent: the sum of the shares."""
    after_audio_s: float
    """From when the last audio was sent."""
    total_s: float
    """From when the first audio was sent."""
    network_s: float
    decoding_s: float
    end_pointing_s: float
    decoding_total_s: float


@dataclass(frozen=True)
class Both:
    """One utterance across one network."""

    name: str
    length_s: float
    real: Sequence[Delay]
    simulated: Sequence[Delay]

    def medians(self, of: str) -> tuple[float, float]:
        """What is real, and what is simulated, in seconds."""
        real, simulated = (
            statistics.median(getattr(one, of) for one in some) for some in (self.real, self.simulated)
        )
        return real, simulated

    def difference(self, of: str = "latency_s") -> float:
        """Of the simulated median to the real one, as a part of that."""
        real, simulated = self.medians(of)
        return simulated / real - 1


def beside(records: Sequence[Mapping[str, Any]], simulated: Sequence[Delay]) -> Both:
    """What was measured of one utterance, and what was simulated of it."""
    return Both(records[0]["name"], records[0]["length_s"], [_real(record) for record in records], simulated)


def measure(
    link: Mapping[str, Any],
    files: Sequence[str],
    repetitions: int,
    folder: Path,
    sending: Sending = Sending(),
    serve: Sequence[str] = SERVE,
) -> list[list[dict[str, Any]]]:
    """The client's records of each file."""
    scenario = {"name": "speech", "topology": {"kind": "pipe", "link": dict(link)}, "hosts": _HOSTS}
    save = folder.resolve() / "records.json"
    stream = [
        *_SPEECH,
        "stream",
        *(list(files) * repetitions),
        "--server",
        f"ws://server:{_PORT}",
        "--save",
        str(save),
    ]
    stream += ["--paced" if sending.paced else "--unpaced", "--block", str(sending.block_s)]
    for attempt in range(1, _ATTEMPTS + 1):
        problems = _measured(scenario, stream, [*serve, str(_PORT)])
        if not problems:
            break
        if attempt == _ATTEMPTS:
            raise MeasurementError("; ".join(problems))
    records: list[dict[str, Any]] = json.loads(save.read_text("utf-8"))
    return [records[number :: len(files)] for number in range(len(files))]


def _measured(scenario: Mapping[str, Any], stream: Sequence[str], serve: Sequence[str]) -> Sequence[str]:
    """Runs client and service on real hosts; why the network was not what it was to be."""
    with voxpath.real(scenario) as net:
        server = net.host("server").popen(serve, stdout=subprocess.PIPE, text=True)
        # It says so once its workers are free.
        if server.stdout is None or not server.stdout.readline():
            raise MeasurementError("the service did not begin")
        done = net.host("client").run(stream, capture_output=True, text=True)
        server.terminate()
        server.wait()
        result = net.finish()
    if done.returncode:
        raise MeasurementError(done.stderr.strip())
    return result.problems


def simulate(
    link: Mapping[str, Any],
    utterance: Mapping[str, Any],
    decoder: Mapping[str, Any],
    replications: int,
    folder: Path,
    sending: Sending = Sending(),
) -> list[Delay]:
    """The same session, simulated."""
    app = {
        "kind": "speech",
        "utterance": dict(utterance),
        "decoder": dict(decoder),
        "paced": sending.paced,
        "block": f"{round(sending.block_s * 1e6)} us",
        "address": f"server:{_PORT}",
    }
    document = from_dict(
        {
            "name": "speech",
            "topology": {"kind": "pipe", "link": dict(link)},
            "hosts": {name: {"profile": "linux"} for name in _HOSTS},
            "flows": [{"name": "utterance", "app": app}],
        }
    )
    flows = voxpath.run(document, replications, out=folder / "runs", backends=["sim"]).flows
    return [_simulated(row) for row in flows.to_dicts()]


def _real(record: Mapping[str, Any]) -> Delay:
    shares = record["shares"]
    return Delay(
        latency_s=sum(shares.values()),
        after_audio_s=record["latency_s"],
        total_s=record["final_s"] - record["first_sent_s"],
        network_s=shares["network_s"],
        decoding_s=shares["decoding_s"],
        end_pointing_s=shares["end_pointing_s"],
        decoding_total_s=record["decoding_s"],
    )


def _simulated(row: Mapping[str, Any]) -> Delay:
    return Delay(
        latency_s=row["final_latency_s"],
        after_audio_s=row["after_audio_s"],
        total_s=(row["final_ns"] - row["audio_first_ns"]) / 1e9,
        network_s=row["network_ns"] / 1e9,
        decoding_s=row["decoding_ns"] / 1e9,
        end_pointing_s=row["end_pointing_ns"] / 1e9,
        decoding_total_s=row["decoding_total_ns"] / 1e9,
    )
