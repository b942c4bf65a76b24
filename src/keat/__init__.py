"""keat: kernelized edge attention and sound evaluation for streams of timestamped edges."""

__version__ = "0.1.0"
