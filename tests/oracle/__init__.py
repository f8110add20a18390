"""The oracle: Kafka's own published classes, asked the same questions as kafka_model.

    python -m tests.oracle record [ALGORITHM ...]        re-records tests/golden/<algorithm>.jsonl.gz from the jars
    python -m tests.oracle run --cases N [ALGORITHM ...]  asks N fresh random cases, in all, of the jars and of the model

    python -m tests.oracle run --kafka VERSION           the same of a version that need not be recorded, by the programs that compile there

`run` prints cases and mismatches for each algorithm, and exits with 1 on a mismatch. Both fetch Kafka's jars from Maven Central and
compile our Java programs when first needed. The ordinary tests (tests/kafka_model/test_golden.py) read the golden files alone.

An algorithm is one file in each of two folders, and nothing else: it is found by its file's name.

1. `java/<Program>.java`: a main that calls `oracle.Lines.serve(question -> answer)`. The question is the case, a Jackson JsonNode; the
   answer is anything that Jackson writes (lists, maps, numbers, strings, null). What it throws is the answer too. The file's `package`
   line may be one of Kafka's own, to reach what is private to that package. Where a name was another one in older versions, a line
   `// before 4.2: name -> older name` says so. A program may serve several algorithms (let the case say
   which) and several versions. A line `// with Other.java` compiles another source of the folder along with it.
2. `algorithms/<algorithm>.py`:
   * `PROGRAMS: dict[str, str]`: for each Kafka version (a key of `java.KAFKA`) the program that asks it;
   * `RECORDED: int`: how many cases the golden file keeps (500 or more; 5,000 for hashes);
   * `case(rng: random.Random) -> dict`: one random case in JSON's terms, the edges included; all chance comes from `rng`;
   * `answer(case: dict, kafka: str) -> Any`: what kafka_model says for that version, in JSON's terms; a ValueError is an answer too, told
     by its class's name, which is Kafka's without `Exception`, or what `ERRORS: dict[str, str]` (optional) maps Kafka's simple class name
     to;
   * `same(model: Any, kafka: Any, case: dict) -> bool` (optional): equality where only a part is determined;
   * `KAFKAS: tuple[str, str]` (optional): the first and the last release that the model is of; `run --kafka` asks no other;
   * `ask(program: str, version: str, cases: list[dict]) -> list[dict]` (optional): how to ask what is not Java.
"""
