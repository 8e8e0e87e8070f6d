"""Real hosts on the real Linux stack, joined by our network on the wall clock. `session.py` is read first."""
