"""streamparse.cli: the functions that fabfiles and tasks.py call, carried out by `heronpy`.

Each module has streamparse's function of that command, with its arguments; `subparser_hook` adds
the command to an argparse parser. A `heronpy` process in the current folder does the work.
"""
