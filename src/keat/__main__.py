"""`python -m keat` is the `keat` command."""

from keat.cli import main

main()
