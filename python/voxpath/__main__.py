"""`python -m voxpath` is `voxpath`."""

from voxpath.cli import main

if __name__ == "__main__":
    main()
