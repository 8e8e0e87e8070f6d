"""One end of a WebRTC call in a browser (`call.py`), and the samples of it that a run keeps as tables."""

ROWS = "VOXPATH_ROWS"
"""In the environment of a scenario's programs: where their run reads rows of tables, a file descriptor."""
