"""What runs on the hosts of a real network to carry the very frames of a voice: one program for each carrier.

Each is run as `python FILE send …` at who speaks, and `python FILE receive …` at who listens; `at ADDRESS
PORT` is where it waits itself, `to ADDRESS PORT` where something else does. `pacing.py` says what goes in and
comes out. They import nothing but the standard library and each other, so they start
at once.
"""
