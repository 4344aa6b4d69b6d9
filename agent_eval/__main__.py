"""`python -m agent_eval`."""

from agent_eval.cli.app import main

if __name__ == "__main__":  # worker processes import this module too
    main()
