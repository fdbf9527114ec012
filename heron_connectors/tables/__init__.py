"""Rows of Parquet, CSV and JSON files; tables of rows for the sinks that write columns."""
