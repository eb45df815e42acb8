"""The command line: words to arguments, arguments to the functions of the other rooms."""
