"""The provider `local`: real Kubernetes as plain processes on this host. Plans are pure; few modules carry them out."""
