"""What is sent to the API server for a scenario: the pod manifest and the container program. Pure."""
