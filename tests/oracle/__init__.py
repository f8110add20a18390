"""The oracle compares kafka_model with Kafka's own published classes.

    python -m tests.oracle record [ALGORITHM ...]         record tests/golden/<algorithm>.jsonl.gz again from the jars
    python -m tests.oracle run --cases N [ALGORITHM ...]  compare the jars and the model on N new random cases in total
    python -m tests.oracle run --kafka VERSION            the same for a version without recordings, with the programs that compile there
    python -m tests.oracle releases --cases N [ALGORITHM ...]  the same for every patch release from --since (3.5.0) on, N cases for each
    python -m tests.oracle.moved_replicas --cases N       count the topics that draws of StripedReplicaPlacer explain, as they are and moved

`run` and `releases` print the number of cases and mismatches and exit with 1 on a mismatch. All commands fetch Kafka's jars from
Maven Central and compile our Java programs on first use. The ordinary tests (tests/kafka_model/test_golden.py) read only the golden
files.

An algorithm consists of one file in each of two folders. It is found by its file name.

1. `java/<Program>.java`: a main method that calls `oracle.Lines.serve(question -> answer)`. The question is the case, as a Jackson
   JsonNode. The answer is anything that Jackson writes (lists, maps, numbers, strings, null). An exception is also an answer.
   * The `package` line may name one of Kafka's packages, to reach members that are private to it.
   * A line `// before 4.2.0: name -> older name` replaces a name in older versions.
   * A line `// with Other.java` compiles another source of the folder, too.
   * A program may serve several algorithms (the case contains which one) and several versions.
2. `algorithms/<algorithm>.py`:
   * `PROGRAMS: dict[str, str]`: the program to run for each recorded Kafka version;
   * `RECORDED: int`: the number of cases in the golden file (500 or more; 5,000 for hashes);
   * `case(rng: random.Random) -> dict`: one random case as JSON values, edge cases included; all randomness comes from `rng`;
   * `answer(case: dict, kafka: str) -> Any`: the answer of kafka_model for that version, as JSON values. A ValueError is also an answer:
     its class name is Kafka's without `Exception`, or the value of `ERRORS: dict[str, str]` (optional) for Kafka's simple class name;
   * `same(model: Any, kafka: Any, case: dict) -> bool` (optional): the comparison, where only a part of the answer is determined;
   * `SINCE: str` and `UNTIL: str` (optional): the first and the last release that the model reproduces; `run --kafka` refuses others;
   * `ask(program: str, version: str, cases: list[dict]) -> list[dict]` (optional): how to run a program that is not Java.

A line of a golden file is `{"case": ..., "kafka": [versions], "result": {"answer": value} or {"error": class name}}`.
"""
