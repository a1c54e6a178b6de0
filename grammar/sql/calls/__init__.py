"""SQL functions: which exist, with how many arguments, and how calls and blanks are written."""
