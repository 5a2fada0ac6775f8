"""Run the command as ``python -m unseen``."""

from unseen.cli import run

if __name__ == "__main__":
    run()
