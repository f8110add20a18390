"""Behaviour of the JVM's libraries that Kafka's answers depend on: hash codes, orders of hash maps, random numbers."""
