"""Python imports this first if PYTHONPATH names this folder: a spawned worker halts before it has begun."""

import signal
import sys

if "--multiprocessing-fork" in sys.orig_argv:
    signal.raise_signal(signal.SIGSTOP)
