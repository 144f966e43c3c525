"""The tests, in folders by package; what several folders use stands here."""
