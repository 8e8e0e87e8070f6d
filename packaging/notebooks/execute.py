"""Executes the notebooks of the gallery where they are: `make notebooks` renews docs/notebooks."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).resolve().parents[2] / "docs" / "notebooks"


def main() -> int:
    """Keeps what each cell gave; a cell that fails is an error."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        with tempfile.TemporaryDirectory() as folder:
            # Runs are kept below; when a cell ran is of no use to a reader.
            client = NotebookClient(
                notebook, timeout=600, record_timing=False, resources={"metadata": {"path": folder}}
            )
            client.execute()
        notebook.metadata = {
            "kernelspec": notebook.metadata["kernelspec"],
            "language_info": {"name": "python"},
        }
        nbformat.write(notebook, path)
        sys.stdout.write(f"{path.name}: {len(notebook.cells)} cells\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
