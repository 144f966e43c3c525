"""The checker: is there an order of a history's operations that its specification allows (`check`)?"""
