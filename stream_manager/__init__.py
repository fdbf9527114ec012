"""Routes the batches of one container, tracks acks and applies back-pressure."""
