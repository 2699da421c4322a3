"""A small shop: orders, prices, stock, payments and refunds."""
