"""What runs in Spark's workers and beside them: the hosts of tasks, their rows and prints."""
