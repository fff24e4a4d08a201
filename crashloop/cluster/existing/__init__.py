"""The provider `existing`: lends nodes of an existing cluster and changes none of them."""
