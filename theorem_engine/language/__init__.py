"""What an author writes: letters, domains, functions, operators, entries, and how entries apply each other."""
