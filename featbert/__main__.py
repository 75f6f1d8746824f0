"""`python -m featbert`."""

from featbert.cli import main

if __name__ == "__main__":
    main()
