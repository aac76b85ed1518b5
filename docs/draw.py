"""Runs the guides and keeps the pictures that they draw: `make pictures`."""

import contextlib
import os
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.test_docs import PAGES, PICTURE, run_blocks


def main() -> None:
    os.environ["MPLBACKEND"] = "agg"
    for page in PAGES:
        text = page.read_text("utf-8")
        shown = [page.parent / found["path"] for found in PICTURE.finditer(text)]
        if shown:
            with TemporaryDirectory() as folder, contextlib.chdir(folder), Path(os.devnull).open("w") as nowhere:
                with contextlib.redirect_stdout(nowhere):
                    run_blocks(text, page.name)
                for picture in shown:
                    picture.parent.mkdir(exist_ok=True)
                    picture.write_bytes((Path(folder) / picture.name).read_bytes())
                    print(picture)


if __name__ == "__main__":
    main()
