"""The command line: one small file per command, listed in app.COMMANDS. Everything a command prints, a call returns."""
