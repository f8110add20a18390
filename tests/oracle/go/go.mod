module oracle

go 1.22

require github.com/IBM/sarama v1.45.1
