"""Speech recognition over a network: a master, its workers, and a client that measures.

`session.py` is read first: audio in, partial and final results out, on audio time alone. `worker.py` runs
it behind a socket, `master.py` joins clients with workers, `client.py` streams and records what happened
when. The protocols are those of the Kaldi GStreamer server and of Vosk's server (`protocol.py`). Needs the
extra `speech`.
"""
