"""The provider `existing`: lends nodes of a cluster that is there, and changes none of them."""
