// Adds the patterns of one file and matches the events of another one, each a line of JSON. Prints the seconds that the
// second pass over the events took, and how many patterns each of them matches.
package main

import (
	"bufio"
	"fmt"
	"log"
	"os"
	"time"

	"quamina.net/go/quamina/v2"
)

func lines(name string) [][]byte {
	file, err := os.Open(name)
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	scanner := bufio.NewScanner(file)
	scanner.Buffer(make([]byte, 1<<20), 1<<20)
	var all [][]byte
	for scanner.Scan() {
		all = append(all, append([]byte(nil), scanner.Bytes()...))
	}
	return all
}

func main() {
	matcher, err := quamina.New()
	if err != nil {
		log.Fatal(err)
	}
	for i, pattern := range lines(os.Args[1]) {
		if err := matcher.AddPattern(i, string(pattern)); err != nil {
			log.Fatal(err)
		}
	}
	events := lines(os.Args[2])
	counts := make([]int, len(events))
	var took time.Duration
	for pass := 0; pass < 2; pass++ {
		start := time.Now()
		for i, event := range events {
			found, err := matcher.MatchesForEvent(event)
			if err != nil {
				log.Fatal(err)
			}
			counts[i] = len(found)
		}
		took = time.Since(start)
	}
	fmt.Println(took.Seconds())
	for _, count := range counts {
		fmt.Println(count)
	}
}
