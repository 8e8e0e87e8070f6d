"""The columns of what only a browser tells; `browsers` makes them.

Names in parentheses are those of W3C's "Identifiers for WebRTC's Statistics API".
"""

from voxpath.scenario.metric import Metric

TABLE = "browsers"

_SENDS, _GETS = "browser that sends", "browser that receives"

COLUMNS: dict[str, Metric] = {
    "flow": Metric("", "scenario", "The call, as the browser that offers names it."),
    "end": Metric("", "scenario", "The end that sends: client (which offers) or server (which answers)."),
    "media": Metric("", "scenario", "audio or video."),
    "second": Metric("1", "run", "Seconds from the run's start."),
    "frame_width": Metric("1", _SENDS, "Pixels of the last frame (frameWidth)."),
    "frame_height": Metric("1", _SENDS, "Likewise (frameHeight)."),
    "frames_captured": Metric("1", _SENDS, "Frames of the camera (frames of media-source)."),
    "frames_encoded": Metric("1", _SENDS, "Frames that were encoded (framesEncoded)."),
    "qp_mean": Metric("1", _SENDS, "Mean quantiser of these, of VP8 from 0 to 127 (qpSum)."),
    "encode_time_ns": Metric(
        "ns", _SENDS, "Processor time of encoding them (totalEncodeTime).", clock="media"
    ),
    "limited_by_cpu_ns": Metric(
        "ns",
        _SENDS,
        "For how long the processor limited the quality (qualityLimitationDurations.cpu).",
        clock="media",
    ),
    "frames_decoded": Metric("1", _GETS, "Frames (framesDecoded)."),
    "frames_dropped": Metric("1", _GETS, "Frames that came and were not shown (framesDropped)."),
    "freezes": Metric("1", _GETS, "Times when the picture stood still (freezeCount)."),
    "frozen_ns": Metric("ns", _GETS, "How long it did (totalFreezesDuration).", clock="media"),
    "jitter_buffer_mean_ns": Metric(
        "ns", _GETS, "Mean wait in the jitter buffer (jitterBufferDelay).", clock="media"
    ),
    "concealed_share": Metric("1", _GETS, "Share of samples that were made up (concealedSamples)."),
    "nacks": Metric("1", _GETS, "Requests for retransmission (nackCount)."),
    "plis": Metric("1", _GETS, "Requests for a key frame (pliCount)."),
}
"""Meanings of the columns of `browsers`: one row per second of each medium that a browser sends."""
