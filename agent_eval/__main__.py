"""`python -m agent_eval`."""

from agent_eval.cli.app import main

main()
