"""The engines that attacks are run on."""

from tests.running import duckdb, running

__all__ = ["duckdb", "running"]
