"""Thapa, Sharma and McClellan 2023: the same data by a TCP socket and by MQTT; `README.md` says how."""

from voxpath.studies.thapa2023.compare import STUDY

__all__ = ["STUDY"]
