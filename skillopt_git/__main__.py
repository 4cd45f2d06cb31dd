"""`python -m skillopt_git`."""

from skillopt_git.cli import main

if __name__ == "__main__":
    main()
