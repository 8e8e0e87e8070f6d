"""What a network does to an application, with a given transport.

```python
import voxpath

scenario = voxpath.load("scenarios/lossy-download.toml")
result = voxpath.run(scenario, replications=5)
print(result.flows)
```
"""

from voxpath.api import Result, compare, load, real, run, sweep, write_report

__all__ = ["Result", "compare", "load", "real", "run", "sweep", "write_report"]
