"""The provider `kind`: nodes as Docker containers, made by `kind` through pytest-kubernetes."""
