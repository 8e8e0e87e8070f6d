"""`python -m voxpath` is `voxpath`."""

from voxpath.start import main

if __name__ == "__main__":
    main()
