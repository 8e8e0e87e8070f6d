"""Packet loss concealment of G.711 Appendix I: the last pitch periods over and over, ever fainter.

It works on blocks of 10 ms at 8000 samples/s. No library for Python has it.
"""

from __future__ import annotations

import numpy as np

_BLOCK = 80
_LEAST_PITCH, _MOST_PITCH = 40, 120
"""Lags at which the period is looked for: 200 to 66 Hz."""
_WINDOW = 160
"""Samples that are compared with those a lag before."""
_PERIODS = 3
"""That are repeated in a long loss, lest one period alone beeps."""
_HISTORY = _PERIODS * _MOST_PITCH + _MOST_PITCH // 4
_FADE = 0.2
"""Less in each 10 ms after the first ones: after 60 ms there is silence."""
_LONGER = 32
"""So many samples more each lost block makes the passage back to what is received: 4 ms."""

_Samples = np.ndarray[tuple[int], np.dtype[np.float64]]


class Concealment:
    """What is received passes, `DELAY` samples late; what is lost is made up."""

    BLOCK = _BLOCK
    """Samples of which a frame is a multiple."""
    DELAY = _MOST_PITCH // 4
    """The last quarter of a period is held back: if a loss follows, it passes over into what is made up."""

    def __init__(self) -> None:
        self._history: _Samples = np.zeros(_HISTORY)
        self._lost = 0
        self._pitch = _LEAST_PITCH
        self._periods = 1
        self._offset = 0
        self._frozen: _Samples = self._history
        self._template: _Samples = self._history

    def received(
        self, values: np.ndarray[tuple[int], np.dtype[np.int16]]
    ) -> np.ndarray[tuple[int], np.dtype[np.int16]]:
        """A frame that came, of whole blocks."""
        made = [self._good(block) for block in values.astype(np.float64).reshape(-1, _BLOCK)]
        return _rounded(made)

    def lost(self, samples: int) -> np.ndarray[tuple[int], np.dtype[np.int16]]:
        """A frame that did not come, of whole blocks."""
        return _rounded([self._bad() for _ in range(samples // _BLOCK)])

    def _good(self, block: _Samples) -> _Samples:
        if self._lost:
            length = min(_BLOCK, self._pitch // 4 + (self._lost - 1) * _LONGER)
            made = self._take(length) * self._gain(length)
            block = np.concatenate((_passage(made, block[:length]), block[length:]))
            self._lost = 0
        return self._put(block)

    def _bad(self) -> _Samples:
        quarter = self._pitch // 4
        if self._lost == 0:
            self._frozen = self._history.copy()
            self._pitch = _period(self._frozen)
            self._periods, self._offset = 1, 0
            self._join()
            quarter = self._pitch // 4
            # What was held back leads into what is made up.
            self._history[-quarter:] = self._template[-quarter:]
            block = self._take(_BLOCK)
        elif self._periods < _PERIODS:
            before = self._offset
            leaving = self._take(quarter)
            self._periods += 1
            self._offset = before % self._pitch
            self._join()
            block = self._take(_BLOCK)
            block = np.concatenate((_passage(leaving, block[:quarter]), block[quarter:]))
        else:
            block = self._take(_BLOCK)
        block = block * self._gain(_BLOCK)
        self._lost += 1
        return self._put(block)

    def _join(self) -> None:
        """The last periods, so joined that their end passes over into their beginning."""
        quarter, length = self._pitch // 4, self._pitch * self._periods
        begin = _HISTORY - length
        end = _passage(self._frozen[-quarter:], self._frozen[begin - quarter : begin])
        self._template = np.concatenate((self._frozen[begin:-quarter], end))

    def _take(self, count: int) -> _Samples:
        places = (self._offset + np.arange(count)) % len(self._template)
        self._offset = (self._offset + count) % len(self._template)
        taken: _Samples = self._template[places]
        return taken

    def _gain(self, count: int) -> _Samples:
        faded = _FADE * (self._lost - 1 + np.arange(count) / _BLOCK)
        gain: _Samples = np.clip(1 - np.maximum(faded, 0), 0, 1)
        return gain

    def _put(self, block: _Samples) -> _Samples:
        self._history = np.concatenate((self._history[len(block) :], block))
        return self._history[-self.DELAY - len(block) : -self.DELAY].copy()


def _period(history: _Samples) -> int:
    """The lag at which the end of the history is most like what came before."""
    end = history[-_WINDOW:]
    lags = np.arange(_LEAST_PITCH, _MOST_PITCH + 1)
    earlier = np.lib.stride_tricks.sliding_window_view(history, _WINDOW)[_HISTORY - _WINDOW - lags]
    energy = np.sqrt(np.maximum(np.einsum("ij,ij->i", earlier, earlier), 1.0))
    return int(lags[np.argmax(earlier @ end / energy)])


def _passage(leaving: _Samples, coming: _Samples) -> _Samples:
    """From one to the other, by triangular windows."""
    rising = (np.arange(len(leaving)) + 1) / (len(leaving) + 1)
    passed: _Samples = leaving * (1 - rising) + coming * rising
    return passed


def _rounded(blocks: list[_Samples]) -> np.ndarray[tuple[int], np.dtype[np.int16]]:
    values: np.ndarray[tuple[int], np.dtype[np.int16]] = np.clip(
        np.rint(np.concatenate(blocks)), -32768, 32767
    ).astype(np.int16)
    return values
