"""`python -m pyreplay.cli`."""

from .main import main

main(prog_name="pyreplay")
