"""What every other room uses and nothing here knows a theorem: errors, exact numbers, their text, files, reports."""
