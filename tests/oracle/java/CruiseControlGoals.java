package com.linkedin.kafka.cruisecontrol.analyzer.goals;

import com.fasterxml.jackson.databind.JsonNode;
import com.linkedin.kafka.cruisecontrol.analyzer.OptimizationOptions;
import com.linkedin.kafka.cruisecontrol.analyzer.ProvisionRecommendation;
import com.linkedin.kafka.cruisecontrol.common.Resource;
import com.linkedin.kafka.cruisecontrol.config.BrokerCapacityInfo;
import com.linkedin.kafka.cruisecontrol.config.KafkaCruiseControlConfig;
import com.linkedin.kafka.cruisecontrol.exception.OptimizationFailureException;
import com.linkedin.kafka.cruisecontrol.KafkaCruiseControlUtils;
import com.linkedin.kafka.cruisecontrol.model.Broker;
import com.linkedin.kafka.cruisecontrol.model.ClusterModel;
import com.linkedin.kafka.cruisecontrol.model.ModelUtils;
import com.linkedin.kafka.cruisecontrol.monitor.ModelGeneration;
import com.linkedin.kafka.cruisecontrol.monitor.metricdefinition.KafkaMetricDef;
import com.linkedin.cruisecontrol.monitor.sampling.aggregator.AggregatedMetricValues;
import com.linkedin.cruisecontrol.monitor.sampling.aggregator.MetricValues;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.TreeSet;
import oracle.Lines;
import org.apache.kafka.common.TopicPartition;

/**
 * {"brokers": [[id, rack, host, alive, disk MiB, cpu %, nw_in KiB/s, nw_out KiB/s]],
 *  "partitions": [[topic, partition, [replicas], leader, disk, cpu, nw_in, nw_out]], "config": {name: value}}
 * -> for each goal its verdict on the unchanged cluster, alone: {"verdict", "limits", "violators", "provision"}; and the balancedness costs.
 */
public class CruiseControlGoals {
    private static final List<String> GOALS = List.of(
        "RackAwareGoal", "MinTopicLeadersPerBrokerGoal", "ReplicaCapacityGoal", "DiskCapacityGoal", "NetworkInboundCapacityGoal",
        "NetworkOutboundCapacityGoal", "CpuCapacityGoal", "ReplicaDistributionGoal", "PotentialNwOutGoal", "DiskUsageDistributionGoal",
        "NetworkInboundUsageDistributionGoal", "NetworkOutboundUsageDistributionGoal", "CpuUsageDistributionGoal",
        "TopicReplicaDistributionGoal", "LeaderReplicaDistributionGoal", "LeaderBytesInDistributionGoal");
    private static final OptimizationOptions NOTHING_EXCLUDED =
        new OptimizationOptions(Collections.emptySet(), Collections.emptySet(), Collections.emptySet());

    public static void main(String[] args) throws Exception {
        Lines.serve(question -> {
            KafkaCruiseControlConfig config = config(question.get("config"));
            Map<String, Object> answer = new TreeMap<>();
            List<Goal> goals = new ArrayList<>();
            for (String name : GOALS) goals.add(goal(name, config));
            for (String name : GOALS) answer.put(name, judged(name, config, question));
            answer.put("RackAwareDistributionGoal", judged("RackAwareDistributionGoal", config, question));
            answer.put("PreferredLeaderElectionGoal", Map.of("relocates",
                new PreferredLeaderElectionGoal().optimize(cluster(question), Collections.emptySet(), NOTHING_EXCLUDED)));
            answer.put("costs", KafkaCruiseControlUtils.balancednessCostByGoal(goals, 1.1, 1.5));
            return answer;
        });
    }

    private static KafkaCruiseControlConfig config(JsonNode given) {
        Properties properties = new Properties();
        properties.setProperty("bootstrap.servers", "localhost:9092");
        given.fields().forEachRemaining(entry -> properties.setProperty(entry.getKey(), entry.getValue().asText()));
        return new KafkaCruiseControlConfig(properties);
    }

    private static Goal goal(String name, KafkaCruiseControlConfig config) throws Exception {
        Goal goal = (Goal) Class.forName("com.linkedin.kafka.cruisecontrol.analyzer.goals." + name).getDeclaredConstructor().newInstance();
        goal.configure(config.mergedConfigValues());
        return goal;
    }

    private static ClusterModel cluster(JsonNode question) {
        ClusterModel cluster = new ClusterModel(new ModelGeneration(0, 0L), 1.0);
        Map<Integer, String> racks = new HashMap<>();
        for (JsonNode broker : question.get("brokers")) {
            int id = broker.get(0).asInt();
            if (!racks.containsValue(broker.get(1).asText())) cluster.createRack(broker.get(1).asText());
            racks.put(id, broker.get(1).asText());
            Map<Resource, Double> capacity = new HashMap<>();
            capacity.put(Resource.DISK, broker.get(4).asDouble());
            capacity.put(Resource.CPU, broker.get(5).asDouble());
            capacity.put(Resource.NW_IN, broker.get(6).asDouble());
            capacity.put(Resource.NW_OUT, broker.get(7).asDouble());
            cluster.createBroker(racks.get(id), broker.get(2).asText(), id, new BrokerCapacityInfo(capacity, 1.0), false);
        }
        for (JsonNode partition : question.get("partitions")) {
            TopicPartition tp = new TopicPartition(partition.get(0).asText(), partition.get(1).asInt());
            double disk = partition.get(4).asDouble(), cpu = partition.get(5).asDouble(), in = partition.get(6).asDouble(), out = partition.get(7).asDouble();
            int index = 0;
            for (int replica : Lines.ints(partition.get(2))) {
                boolean leads = replica == partition.get(3).asInt();
                cluster.createReplica(racks.get(replica), replica, tp, index++, leads);
                AggregatedMetricValues load = new AggregatedMetricValues();
                set(load, KafkaMetricDef.CPU_USAGE, leads ? cpu : ModelUtils.getFollowerCpuUtilFromLeaderLoad(in, out, cpu));
                set(load, KafkaMetricDef.DISK_USAGE, disk);
                set(load, KafkaMetricDef.LEADER_BYTES_IN, leads ? in : 0);
                set(load, KafkaMetricDef.LEADER_BYTES_OUT, leads ? out : 0);
                set(load, KafkaMetricDef.REPLICATION_BYTES_IN_RATE, leads ? 0 : in);
                set(load, KafkaMetricDef.REPLICATION_BYTES_OUT_RATE, 0);
                cluster.setReplicaLoad(racks.get(replica), replica, tp, load, Collections.singletonList(1L));
            }
        }
        for (JsonNode broker : question.get("brokers"))
            if (!broker.get(3).asBoolean()) cluster.setBrokerState(broker.get(0).asInt(), Broker.State.DEAD);
        return cluster;
    }

    private static void set(AggregatedMetricValues load, KafkaMetricDef metric, double value) {
        MetricValues values = new MetricValues(1);
        values.set(0, value);
        load.add(KafkaMetricDef.commonMetricDef().metricInfo(metric.name()).id(), values);
    }

    /** Compare each broker with the limits of the goal; for goals that only throw, report whether they throw. */
    private static Map<String, Object> judged(String name, KafkaCruiseControlConfig config, JsonNode question) throws Throwable {
        ClusterModel cluster = cluster(question);
        AbstractGoal goal = (AbstractGoal) goal(name, config);
        Map<String, Object> verdict = new TreeMap<>();
        try {
            goal.initGoalState(cluster, NOTHING_EXCLUDED);
        } catch (OptimizationFailureException impossible) {
            verdict.put("verdict", "unfixable");
            verdict.put("provision", provision(impossible.provisionRecommendation()));
            return verdict;
        } catch (IllegalArgumentException refused) {
            verdict.put("verdict", "refused");
            return verdict;
        }
        verdict.put("provision", provision(goal.provisionResponse().recommendationByRecommender().get(name)));
        if (name.endsWith("UsageDistributionGoal")) {
            verdict.put("limits", List.of(number(field(goal, "_balanceLowerThreshold")), number(field(goal, "_balanceUpperThreshold"))));
            brokers(verdict, cluster, broker -> (boolean) call(goal, "isLoadUnderBalanceUpperLimit", broker)
                ? ((boolean) call(goal, "isLoadAboveBalanceLowerLimit", broker) ? 0 : -1) : 1);
        } else if (name.equals("ReplicaDistributionGoal") || name.equals("LeaderReplicaDistributionGoal")) {
            int lower = (int) field(goal, "_balanceLowerLimit"), upper = (int) field(goal, "_balanceUpperLimit");
            verdict.put("limits", List.of(lower, upper));
            brokers(verdict, cluster, broker -> {
                int count = name.startsWith("Leader") ? broker.leaderReplicas().size() : broker.replicas().size();
                return count > upper ? 1 : count < lower ? -1 : 0;
            });
            if (name.equals("ReplicaDistributionGoal")) verdict.put("drop", call(goal, "numBrokersToDrop", cluster));
        } else if (name.equals("TopicReplicaDistributionGoal")) {
            Map<String, Integer> lower = (Map<String, Integer>) field(goal, "_balanceLowerLimitByTopic");
            Map<String, Integer> upper = (Map<String, Integer>) field(goal, "_balanceUpperLimitByTopic");
            Map<String, Object> limits = new TreeMap<>();
            for (String topic : cluster.topics()) limits.put(topic, List.of(lower.get(topic), upper.get(topic)));
            verdict.put("limits", limits);
            List<Object> violators = new ArrayList<>();
            for (String topic : new TreeSet<>(cluster.topics()))
                for (Broker broker : new TreeSet<>(cluster.aliveBrokers())) {
                    if (!broker.topics().contains(topic)) continue;
                    int count = broker.replicasOfTopicInBroker(topic).size();
                    if (count > upper.get(topic) || count < lower.get(topic)) violators.add(List.of(broker.id(), topic, count > upper.get(topic) ? 1 : -1));
                }
            put(verdict, violators);
        } else if (name.equals("PotentialNwOutGoal")) {
            double threshold = new com.linkedin.kafka.cruisecontrol.analyzer.BalancingConstraint(config).capacityThreshold(Resource.NW_OUT);
            brokers(verdict, cluster, broker -> !broker.replicas().isEmpty()
                && cluster.potentialLeadershipLoadFor(broker.id()).expectedUtilizationFor(Resource.NW_OUT)
                    > broker.capacityFor(Resource.NW_OUT) * threshold ? 1 : 0);
        } else if (name.equals("LeaderBytesInDistributionGoal")) {
            Map<String, Object> limits = new TreeMap<>();
            brokers(verdict, cluster, broker -> {
                double limit = (double) call(goal, "balanceThreshold", cluster, broker.id());
                limits.put(String.valueOf(broker.id()), limit);
                return broker.leadershipLoadForNwResources().expectedUtilizationFor(Resource.NW_IN) > limit ? 1 : 0;
            });
            verdict.put("limits", limits);
        } else {
            String ensures = Map.of("RackAwareGoal", "ensureRackAware", "RackAwareDistributionGoal", "ensureRackAwareDistribution",
                "MinTopicLeadersPerBrokerGoal", "ensureBrokersAllHaveEnoughLeaderOfTopics", "ReplicaCapacityGoal", "ensureReplicaCapacitySatisfied")
                .getOrDefault(name, "ensureUtilizationUnderCapacity");
            try {
                if (ensures.equals("ensureUtilizationUnderCapacity")) call(goal, ensures, cluster);
                else call(goal, ensures, cluster, NOTHING_EXCLUDED);
                verdict.put("verdict", "satisfied");
            } catch (OptimizationFailureException broken) {
                verdict.put("verdict", "violated");
            }
        }
        return verdict;
    }

    private interface Side {
        int of(Broker broker) throws Throwable;
    }

    private static void brokers(Map<String, Object> verdict, ClusterModel cluster, Side side) throws Throwable {
        List<Object> violators = new ArrayList<>();
        for (Broker broker : new TreeSet<>(cluster.aliveBrokers())) {
            int out = side.of(broker);
            if (out != 0) violators.add(List.of(broker.id(), out));
        }
        put(verdict, violators);
    }

    private static void put(Map<String, Object> verdict, List<Object> violators) {
        verdict.put("verdict", violators.isEmpty() ? "satisfied" : "violated");
        verdict.put("violators", violators);
    }

    private static Object provision(ProvisionRecommendation recommendation) {
        if (recommendation == null) return null;
        return List.of(recommendation.status().toString(), recommendation.numBrokers(), recommendation.numRacks(), recommendation.numPartitions());
    }

    private static Object number(Object value) {
        return Double.isNaN((double) value) ? "NaN" : value;
    }

    private static Object field(Object of, String name) throws Exception {
        for (Class<?> type = of.getClass(); type != null; type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                if (field.getName().equals(name)) {
                    field.setAccessible(true);
                    return field.get(of);
                }
            }
        }
        throw new NoSuchFieldException(name);
    }

    private static Object call(Object of, String name, Object... given) throws Throwable {
        for (Class<?> type = of.getClass(); type != null; type = type.getSuperclass()) {
            for (Method method : type.getDeclaredMethods()) {
                if (method.getName().equals(name) && method.getParameterCount() == given.length) {
                    method.setAccessible(true);
                    try {
                        return method.invoke(of, given);
                    } catch (InvocationTargetException thrown) {
                        throw thrown.getCause();
                    }
                }
            }
        }
        throw new NoSuchMethodException(name);
    }
}
