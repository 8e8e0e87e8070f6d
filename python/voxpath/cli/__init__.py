"""The command line.

`main.py` lists the commands. A file beside it says what a command takes and what its help says; the file of
the same subject in `actions/` does it. An action is imported when its command runs, so that `voxpath --help`
is there at once: nothing in this folder itself may import what takes long.
"""
