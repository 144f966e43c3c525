import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CyclicBarrier;
import scala.collection.concurrent.TrieMap;

/**
 * One loop over scala.collection.concurrent.TrieMap, as `benchmarks.suite.maps` runs it over Python's maps.
 *
 * Arguments: operation (get, insert, mixed), keys in the map, operations of each thread in a round,
 * threads, rounds, warm-up rounds before them. Prints the seconds of the rounds together, each from the start of the
 * first thread to the end of the last one.
 */
public class TrieMapLoop {
    static volatile int sink;

    public static void main(String[] arguments) throws Exception {
        String operation = arguments[0];
        int size = Integer.parseInt(arguments[1]);
        int uses = Integer.parseInt(arguments[2]);
        int threads = Integer.parseInt(arguments[3]);
        int rounds = Integer.parseInt(arguments[4]);
        int warmUps = Integer.parseInt(arguments[5]);
        TrieMap<String, Integer> map = new TrieMap<>();
        for (String key : keys("key", size, size, 1)) map.put(key, 0);
        if (map.size() != size) throw new AssertionError("the map lacks keys");
        for (int round = 0; round < warmUps; round++) round(map, operation, size, uses, threads);
        double seconds = 0;
        for (int round = 0; round < rounds; round++) seconds += round(map, operation, size, uses, threads);
        if (map.size() != size) throw new AssertionError("the map has another size");
        System.out.println(seconds);
    }

    static double round(TrieMap<String, Integer> map, String operation, int size, int uses, int threads)
            throws Exception {
        boolean fresh = operation.equals("insert");
        CyclicBarrier together = new CyclicBarrier(threads);
        long[] starts = new long[threads];
        long[] ends = new long[threads];
        List<Thread> running = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            int number = i;
            Thread thread = new Thread(() -> {
                try {
                    String[] keys = keys(fresh ? "new" + number + "key" : "key", fresh ? uses : size, uses, 2 + number);
                    together.await();
                    starts[number] = System.nanoTime();
                    work(map, operation, keys);
                    ends[number] = System.nanoTime();
                    if (fresh) for (String key : keys) map.remove(key);
                } catch (Exception failure) {
                    throw new AssertionError(failure);
                }
            });
            thread.start();
            running.add(thread);
        }
        for (Thread thread : running) thread.join();
        long first = Long.MAX_VALUE;
        long last = Long.MIN_VALUE;
        for (int i = 0; i < threads; i++) {
            first = Math.min(first, starts[i]);
            last = Math.max(last, ends[i]);
        }
        return (last - first) / 1e9;
    }

    static void work(TrieMap<String, Integer> map, String operation, String[] keys) {
        int found = 0;
        for (int i = 0; i < keys.length; i++) {
            boolean write = operation.equals("mixed") && i % 2 == 1;
            if (operation.equals("insert") || write) map.put(keys[i], 0);
            else if (map.get(keys[i]).isDefined()) found++;
        }
        sink = found;
    }

    static String[] keys(String prefix, int size, int uses, long seed) {
        List<String> all = new ArrayList<>();
        for (int i = 0; i < size; i++) all.add(prefix + i);
        Collections.shuffle(all, new Random(seed));
        String[] keys = new String[uses];
        for (int i = 0; i < uses; i++) keys[i] = all.get(i % size);
        return keys;
    }
}
