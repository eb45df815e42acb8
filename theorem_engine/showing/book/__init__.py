"""The book: the registry as pages of HTML that open from a file."""
