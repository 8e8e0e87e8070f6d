"""What a network does to an application, with a given transport.

```python
import voxpath

scenario = voxpath.load("scenarios/lossy-download.toml")
result = voxpath.run(scenario, replications=5)
print(result.flows)
```
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from voxpath.api import Result, compare, load, real, run, sweep, write_report

__all__ = ["Result", "compare", "load", "real", "run", "sweep", "write_report"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """The functions of `voxpath.api`, imported when the first of them is used.

        Whatever starts a process of this package runs these lines first, and most need none of them.
        """
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from voxpath import api

        return getattr(api, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
