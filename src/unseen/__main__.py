"""Run the command as ``python -m unseen``."""

from unseen.cli import main

if __name__ == "__main__":
    main(prog_name="unseen")
