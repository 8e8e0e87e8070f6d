#!/usr/bin/env python3
"""The service with a recogniser that sleeps: what it takes is known, and depends on no other work of the machine.

`sleeping.py PORT` serves until it is ended; it says so once its worker is free.
"""
# SPDX-License-Identifier: Apache-2.0

import asyncio
import sys
import time

from voxpath.voice.speech import master, worker
from voxpath.voice.speech.recognisers import Heard

PER_SECOND_S, FINISHING_S = 0.2, 0.15
"""Of decoding for each second of speech, and at a segment's end."""
DECODER = {"per_second": f"{PER_SECOND_S} s", "finishing": f"{FINISHING_S} s"}
_BYTES_PER_S = 32_000
_PAUSE_S = 0.1
_PATIENCE_S = 60.0


class Sleeping:
    """Understands how much it has heard."""

    def __init__(self, *, awake: bool = False) -> None:
        self._awake = awake
        self._heard = 0
        self._until = 0.0

    def reset(self) -> None:
        """A session begins."""
        self._heard = 0

    def begin(self) -> None:
        """A segment begins."""
        self._heard = 0

    def feed(self, pcm: bytes) -> None:
        """Hears; what it slept too long the next time it sleeps less."""
        self._heard += len(pcm)
        self._sleep(PER_SECOND_S * len(pcm) / _BYTES_PER_S)

    def partial(self) -> str:
        """What is understood so far."""
        return f"{self._heard // 8_000} quarters of a second"

    def finish(self) -> Heard:
        """The segment ends."""
        self._sleep(FINISHING_S)
        return Heard(self.partial())

    def adaptation(self) -> str | None:
        """Nothing is learnt."""
        return None

    def adapt(self, state: str) -> None:
        """Nothing was."""

    def _sleep(self, seconds: float) -> None:
        if self._awake:
            return
        now = time.monotonic()
        # After a pause there is nothing to make up for.
        self._until = (now if now - self._until > _PAUSE_S else self._until) + seconds
        time.sleep(max(0.0, self._until - now))


async def serve(port: int) -> None:
    """A master and a worker in one process."""
    settings = master.Settings(master.Limits(wait_s=_PATIENCE_S))
    runner, made, _ = await master.serve(settings, "0.0.0.0", port, None)  # noqa: S104 - of a namespace
    work = asyncio.create_task(worker.work(worker.Settings(f"ws://127.0.0.1:{port}"), Sleeping()))
    try:
        await made.pool.until_available(1)
        sys.stdout.write("serving\n")
        sys.stdout.flush()
        await work
    finally:
        work.cancel()
        await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
