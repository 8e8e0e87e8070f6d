"""What goes wrong with real hosts."""


class RealError(Exception):
    """The machine cannot run this, or something failed while it did."""
