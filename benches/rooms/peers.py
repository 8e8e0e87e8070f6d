"""Other echo cancellers over the same samples: Speex's, by ctypes, and WebRTC's AEC3, in the wheel of LiveKit."""
# SPDX-License-Identifier: Apache-2.0

import ctypes
import time
from typing import Any

import numpy as np

SPEEX_RATE = 24
"""SPEEX_ECHO_SET_SAMPLING_RATE."""


def integers(samples: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """As frames of 16 bits."""
    return np.ascontiguousarray(np.clip(np.rint(samples * 2**15), -(2**15), 2**15 - 1).astype("<i2").T)


class Speex:
    """speexdsp's canceller, without its preprocessor."""

    def __init__(self, rate: int, tail: int, frame: int) -> None:
        self._library = ctypes.CDLL("libspeexdsp.so.1")
        self._library.speex_echo_state_init_mc.restype = ctypes.c_void_p
        state = self._library.speex_echo_state_init_mc(frame, tail, 2, 2)
        self._state = ctypes.c_void_p(state)
        self._library.speex_echo_ctl(self._state, SPEEX_RATE, ctypes.byref(ctypes.c_int(rate)))
        self.frame = frame

    def block(self, far: np.ndarray[Any, Any], near: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """A frame of both."""
        out = np.empty_like(near)
        pointers = [ctypes.c_void_p(samples.ctypes.data) for samples in (near, far, out)]
        self._library.speex_echo_cancellation(self._state, *pointers)
        return out


class Aec3:
    """WebRTC's AEC3 alone: no noise suppression, gain control or high-pass filter of its module is asked for."""

    def __init__(self, rate: int) -> None:
        from livekit import rtc

        self._rtc = rtc
        self._rate = rate
        self.frame = rate // 100
        self._module = rtc.AudioProcessingModule(
            echo_cancellation=True, noise_suppression=False, high_pass_filter=False, auto_gain_control=False
        )

    def block(self, far: np.ndarray[Any, Any], near: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """A frame of both."""
        loud, heard = (
            self._rtc.AudioFrame(bytearray(samples.tobytes()), self._rate, 2, self.frame)
            for samples in (far, near)
        )
        self._module.process_reverse_stream(loud)
        self._module.process_stream(heard)
        return np.frombuffer(bytes(heard.data.cast("b")), "<i2").reshape(-1, 2)


def run(
    peer: Speex | Aec3, far: np.ndarray[Any, Any], near: np.ndarray[Any, Any]
) -> tuple[np.ndarray[Any, Any], float]:
    """What a peer leaves of the microphones, and the processor time of it in seconds."""
    loud, heard = integers(far), integers(near)
    out = np.zeros_like(heard)
    began = time.process_time()
    for start in range(0, len(loud) - peer.frame + 1, peer.frame):
        part = slice(start, start + peer.frame)
        out[part] = peer.block(loud[part], heard[part])
    return out.T / 2**15, time.process_time() - began
