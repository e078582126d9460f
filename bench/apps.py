"""What `pyreplay run --app bench.apps:applied` runs.

It imports no more than an application does, for the memory of its process is measured.
"""

import os

from examples.permits import app
from pyreplay.projection import Projection

applied = Projection("bench", os.environ.get("BENCH_GROUP", "default"))
for event_type in app.EVENT_TYPES:
    applied.declare(event_type, app.keep_clean)
