"""What was seen: events, their JSON Lines form, and the reduction to container instances. Pure."""
