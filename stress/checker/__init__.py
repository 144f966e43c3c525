"""The checker: whether there is an order of a history's operations that its specification allows (`check`)."""
