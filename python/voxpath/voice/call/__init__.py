"""One voice through a codec, a transport and a network: what the other side hears.

`path.py` puts the parts together: `recording.py` reads a voice, `codecs/` encode it, `transports/` ask the
engine what becomes of each frame, `player.py` decides what is played and decodes it, `measures/` judge,
`page.py` shows. A codec, a transport and a measure are a file each and a line in the list of their folder.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from voxpath.voice.call.path import Call, call

__all__ = ["Call", "call"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """What makes calls, imported when it is used: a process that judges one needs none of it."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from voxpath.voice.call import path

        return getattr(path, name)
