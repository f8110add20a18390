"""Messages about what changed since the previous night, sent once to each recipient.

changes.py      what changed in each cluster
message.py      the text of a message
delivery.py     sends messages through Apprise, and records them in the table `notification`
"""
