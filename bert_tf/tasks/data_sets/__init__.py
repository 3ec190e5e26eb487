"""The built-in data sets, a table for each family; `registry` has them all."""
