// Fills NATS' table of subscriptions with the filters of one file and matches the topics of another one, a line each.
// Prints the seconds that the matches took, without those of a pass before them, and then, for each of the first topics
// of the file, the numbers of the filters that matched it.
//
//	loop cached|plain FILTERS TOPICS SHOWN
package main

import (
	"bufio"
	"fmt"
	"log"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/nats-io/nats-server/server"
)

func main() {
	table := server.NewSublist(os.Args[1] == "cached")
	for number, filter := range lines(os.Args[2]) {
		subscribe(table, filter, number)
	}
	topics := lines(os.Args[3])
	matchAll(table, topics)
	start := time.Now()
	matchAll(table, topics)
	fmt.Println(time.Since(start).Seconds())
	shown, err := strconv.Atoi(os.Args[4])
	if err != nil {
		log.Fatal(err)
	}
	for _, topic := range topics[:shown] {
		fmt.Println(strings.Join(numbers(table.Match(topic)), " "))
	}
}

func matchAll(table *server.Sublist, topics []string) {
	for _, topic := range topics {
		table.Match(topic)
	}
}

func lines(name string) []string {
	file, err := os.Open(name)
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	var all []string
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		all = append(all, scanner.Text())
	}
	return all
}

// The package does not export the type of its subscriptions, but reflection finds it as the argument of Insert.
func subscribe(table *server.Sublist, filter string, number int) {
	insert := reflect.ValueOf(table.Insert)
	made := reflect.New(insert.Type().In(0).Elem())
	set(made, "subject", filter)
	set(made, "sid", strconv.Itoa(number))
	if failed := insert.Call([]reflect.Value{made})[0]; !failed.IsNil() {
		log.Fatal(failed.Interface())
	}
}

func set(made reflect.Value, name string, text string) {
	field := made.Elem().FieldByName(name)
	*(*[]byte)(unsafe.Pointer(field.UnsafeAddr())) = []byte(text)
}

func numbers(found *server.SublistResult) []string {
	all := reflect.ValueOf(found).Elem().FieldByName("psubs")
	var texts []string
	for i := 0; i < all.Len(); i++ {
		texts = append(texts, string(all.Index(i).Elem().FieldByName("sid").Bytes()))
	}
	return texts
}
