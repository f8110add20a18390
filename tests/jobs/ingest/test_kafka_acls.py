"""Output of kafka-acls --list."""

from jobs.ingest.facts import AccessControl
from jobs.ingest.reading import read_dump
from tests.jobs.ingest.dumps import rejects, resolved, rows

# As AclCommand of 4.3.1 prints it: a line of a resource ends with a blank, and its first entry begins with one.
LISTED = """Current ACLs for resource `ResourcePattern(resourceType=TOPIC, name=orders, patternType=PREFIXED)`:{blank}
 \t(principal=User:CN=alice, OU=sales, host=*, operation=READ, permissionType=ALLOW)
\t(principal=User:bob, host=10.0.0.1, operation=ALL, permissionType=DENY){blank}

Current ACLs for resource `ResourcePattern(resourceType=CLUSTER, name=kafka-cluster, patternType=LITERAL)`:{blank}
 \t(principal=User:bob, host=*, operation=DESCRIBE_CONFIGS, permissionType=ALLOW){blank}

""".format(blank=" ")
EARLY = """Current ACLs for resource `TransactionalId:LITERAL:tx-1`:{blank}
 \tUser:alice has Allow permission for operations: DescribeConfigs from hosts: *{blank}

""".format(blank=" ")


def facts(text: str) -> list[object]:
    reading = read_dump(text.encode())
    assert (reading.format, reading.rejected) == ("kafka-acls", [])
    return [parsed.fact for parsed in reading.parsed if parsed.fact is not None]


def test_every_entry_is_parsed_with_its_resource() -> None:
    assert facts("ACLs for principal `User:bob`\n" + LISTED) == [
        AccessControl("TOPIC", "orders", "PREFIXED", "User:CN=alice, OU=sales", "*", "READ", "ALLOW"),
        AccessControl("TOPIC", "orders", "PREFIXED", "User:bob", "10.0.0.1", "ALL", "DENY"),
        AccessControl("CLUSTER", "kafka-cluster", "LITERAL", "User:bob", "*", "DESCRIBE_CONFIGS", "ALLOW"),
    ]


def test_the_words_of_kafka_2_0_become_those_of_later_releases() -> None:
    assert facts(EARLY) == [AccessControl("TRANSACTIONAL_ID", "tx-1", "LITERAL", "User:alice", "*", "DESCRIBE_CONFIGS", "ALLOW")]


def test_entries_are_rows_and_other_lines_are_rejected() -> None:
    tables = resolved(a=LISTED + "Error: timeout\n", b=EARLY)
    assert [(row[0], row[3]) for row in rows(tables, "acl")] == [
        ("CLUSTER", "User:bob"), ("TOPIC", "User:CN=alice, OU=sales"), ("TOPIC", "User:bob"), ("TRANSACTIONAL_ID", "User:alice")
    ]  # fmt: skip
    assert [reject[-1] for reject in rejects(tables)] == ["neither a resource nor an access control entry"]
