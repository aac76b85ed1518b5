import pytest

from tests.servers import durable_postgres, postgres, spark
from tests.sizes import SETTING, setting

__all__ = ["durable_postgres", "postgres", "spark"]


def pytest_report_header() -> str:
    return f"{SETTING}={setting()}"


def pytest_configure() -> None:
    try:
        setting()
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
