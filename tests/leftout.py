"""The pytest plugin that lists what was left out, and fails on it where everything is asked for."""

from collections import Counter

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fail-left-out", action="store_true", help="fail if any test was left out")


def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.config.getoption("fail_left_out") and _left_out(session.config):
        session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if found := _left_out(config):
        terminalreporter.section("left out")
        for what, count in sorted(found.items()):
            terminalreporter.write_line(f"{count} tests: {what}")
        terminalreporter.write_line(f"left out: {found.total()}")


def _left_out(config: pytest.Config) -> Counter[str]:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    reports = reporter.stats.get("skipped", []) if reporter else []
    # However a test came to be skipped, it did not run.
    return Counter(report.longrepr[2].removeprefix("Skipped: ") for report in reports)
