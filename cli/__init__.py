"""The command `pyreplay`: one command a client method, and what surrounds them."""
