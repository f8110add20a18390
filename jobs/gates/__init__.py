"""The gates of a night: evaluate the rules of every table with DuckDB and Great Expectations, and build the Data Docs."""
