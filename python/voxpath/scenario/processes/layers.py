"""What connections of a process go over: TLS and WebSocket."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from voxpath.scenario.apps.table import default
from voxpath.scenario.processes.table import ProcessTable
from voxpath.scenario.quantities import PositiveSize


def _place(path: str) -> str:
    if re.fullmatch("/[!-~]{0,999}", path) is None:
        raise ValueError("begins with / and has at most 1000 visible ASCII characters")
    return path


class LayersTable(ProcessTable):
    """A process whose connections may go over TLS 1.3 and WebSocket; both ends have to say so."""

    CONNECTS: ClassVar[tuple[Literal["client", "server"], ...]] = ("client",)

    tls: bool = Field(
        False,
        description="Whether connections go over TLS 1.3: on real hosts by rustls, simulated by the round "
        "trips and sizes of a handshake and of records.",
    )
    library: Literal["rustls", "openssl"] = Field(
        "rustls", description="Of TLS, whose handshake a simulated end has; real hosts have rustls."
    )
    certificate: Annotated[PositiveSize, Field(le=16_000)] = default(
        "800 B",
        "Of TLS, the server's certificates; the broker's counts. On real hosts one of so many bytes is made.",
    )
    websocket: bool = Field(
        False, description="Whether connections are WebSockets, over TLS if that is there too."
    )
    path: Annotated[str, AfterValidator(_place)] = Field(
        "/mqtt", description="Of a WebSocket, where on the broker clients ask for it."
    )

    def layers(self, host: str, port: int) -> dict[str, Any]:
        """The layers as a plan holds them.

        Args:
            host: Of the broker.
            port: The broker's.
        """
        tls = {"library": self.library, "server": host, "certificate_bytes": self.certificate}
        place = {"host": f"{host}:{port}", "path": self.path}
        return {"tls": tls if self.tls else None, "websocket": place if self.websocket else None}
