"""What goes wrong with a call."""


class CallError(ValueError):
    """A recording, a network or a setting that cannot be used; the message says what is allowed."""
