"""Benchmarks and their floors."""
