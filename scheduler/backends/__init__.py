"""Back ends: what runs the containers (this machine, Spark, YARN, Aurora)."""
