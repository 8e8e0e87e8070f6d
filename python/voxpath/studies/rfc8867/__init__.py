"""RFC 8867: test cases for the rate control of real-time media. `README.md` says what is read how."""

from voxpath.studies.rfc8867.compare import STUDY

__all__ = ["STUDY"]
