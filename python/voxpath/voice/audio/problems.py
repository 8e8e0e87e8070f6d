"""What goes wrong with codecs and recordings."""


class AudioError(RuntimeError):
    """A codec or a recording cannot be used; the message says what is missing."""
