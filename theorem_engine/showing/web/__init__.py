"""The explorer: the book over HTTP on this machine, with questions that are answered while one moves a letter."""
