"""``python -m theorem_engine``: the command line."""

from theorem_engine.showing.commandline.commands import main

main()
