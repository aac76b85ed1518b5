import pytest

from tests.sizes import SETTING, setting


def pytest_report_header() -> str:
    return f"{SETTING}={setting()}"


def pytest_configure() -> None:
    try:
        setting()
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
