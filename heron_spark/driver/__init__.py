"""What runs in Spark's driver: the session, the query, its tables, and the whole run."""
