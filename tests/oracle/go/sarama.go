// {"partitioner", "key": hex or null, "partitions"} -> the partition by Sarama's partitioner of that name, null where chance decides.
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"os"

	"github.com/IBM/sarama"
)

func main() {
	makers := map[string]sarama.PartitionerConstructor{
		"random":              sarama.NewRandomPartitioner,
		"hash":                sarama.NewHashPartitioner,
		"reference_hash":      sarama.NewReferenceHashPartitioner,
		"unsigned_hash":       sarama.NewCustomPartitioner(sarama.WithHashUnsigned()),
		"consistent_crc_hash": sarama.NewConsistentCRCHashPartitioner,
	}
	questions := bufio.NewScanner(os.Stdin)
	answers := json.NewEncoder(os.Stdout)
	for questions.Scan() {
		var question struct {
			Partitioner string
			Key         *string
			Partitions  int32
		}
		if err := json.Unmarshal(questions.Bytes(), &question); err != nil {
			panic(err)
		}
		partitioner := makers[question.Partitioner]("t")
		message := &sarama.ProducerMessage{Topic: "t"}
		if question.Key != nil {
			key, _ := hex.DecodeString(*question.Key)
			message.Key = sarama.ByteEncoder(key)
		}
		partition, _ := partitioner.Partition(message, question.Partitions)
		answer := map[string]any{"answer": partition}
		for range 8 { // over so many partitions chance does not hit one twice
			one, _ := partitioner.Partition(message, 1<<30)
			other, _ := partitioner.Partition(message, 1<<30)
			if one != other {
				answer["answer"] = nil
			}
		}
		answers.Encode(answer)
	}
}
