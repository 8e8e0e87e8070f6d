"""Voice requests between two machines, as iperf-siri measures them, with a control channel."""
