"""The numbers of the view replay.metric, as Prometheus reads them."""

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

import psycopg
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

METRICS = "select name, help, labels, value from replay.metric order by name, labels"


def expose(conn: psycopg.Connection[Any]) -> str:
    """All metrics of the caller's hosts in the Prometheus text format."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Metrics(conn.execute(METRICS).fetchall()))
    return generate_latest(registry).decode()


class _Metrics(Collector):
    def __init__(self, rows: list[tuple[str, str, dict[str, str], Any]]) -> None:
        self._rows = rows

    def collect(self) -> Iterator[Metric]:
        for name, rows in groupby(self._rows, itemgetter(0)):
            group = list(rows)
            made = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
            family = made(name, group[0][1], labels=sorted(group[0][2]))
            for _, _, labels, value in group:
                family.add_metric([labels[label] for label in sorted(labels)], float(value))
            yield family
