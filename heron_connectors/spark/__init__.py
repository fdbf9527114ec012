"""What Spark reads and writes beside a topology."""
