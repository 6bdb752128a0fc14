package search

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.org/conclave/search/internal/answering"
)

// TestBatchTakesRoomInOrder: room is taken for one answer after the other, for each
// once and before its texts are read, and for the next only when the one before it was
// delivered, however slowly: which takes none of the searches' time. The clock is the
// test's.
func TestBatchTakesRoomInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage("A", 60)
		s.config.Limits.BatchParallel = 3
		e := s.engine(t)
		var requests []Request
		for i := range 10 {
			requests = append(requests, Request{Question: strings.Repeat("red ", i+1), K: i + 1, TimeoutMS: 100})
		}
		var rooms []int
		delivered := 0
		caller := Caller{TakeRoom: func(_ context.Context, bytes int) error {
			if len(rooms) != delivered {
				t.Errorf("room for answer %d was taken when %d were delivered", len(rooms), delivered)
			}
			rooms = append(rooms, bytes)
			if s.library.shelf.reads.Load() > int64(delivered*(delivered+1)/2) {
				t.Errorf("%d texts were read before there was room for answer %d", s.library.shelf.reads.Load(), delivered)
			}
			return nil
		}}
		err := e.Batch(context.Background(), caller, requests, func(a Answer) error {
			if a.Err != nil || len(a.Response.Results) != delivered+1 || a.Response.TookMS >= 100 {
				t.Errorf("answer %d: %v, %d results in %v ms", delivered, a.Err, len(a.Response.Results), a.Response.TookMS)
			}
			time.Sleep(time.Second) // ten times what a search has
			delivered++
			return nil
		})
		if err != nil || delivered != 10 {
			t.Fatal(err, delivered)
		}
		for i, room := range rooms {
			if i > 0 && room <= rooms[i-1] || room < answering.Copies*answering.ResultBytes*(i+1) {
				t.Errorf("room of %d bytes for %d results, after %v", room, i+1, rooms[:i])
			}
		}
		full := errors.New("full")
		caller.TakeRoom = func(context.Context, int) error { return full }
		if _, err := e.Search(context.Background(), caller, requests[0]); !errors.Is(err, full) {
			t.Errorf("without room: %v", err)
		}
		if _, _, err := e.List(context.Background(), caller, "", 3); !errors.Is(err, full) {
			t.Errorf("a list without room: %v", err)
		}
		if err := e.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	})
}

// TestRoom: an answer takes at least four times what it has as JSON, whatever it is of.
func TestRoom(t *testing.T) {
	s := newStage("AB", 60)
	e := s.engine(t)
	for _, r := range []Request{
		{Question: "red dog", K: 1}, {Question: "red dog", K: 60}, {Question: "red dog", K: 60, Fields: []string{}},
		{Question: "red dog cat bird", K: 30, Explain: true}, {Question: "red", K: 20, Fusion: listOf("rrf", "sum", "auto")},
		{Question: "red", Fields: []string{"metadata"}},
	} {
		took := 0
		caller := Caller{TakeRoom: func(_ context.Context, bytes int) error {
			took = bytes
			return nil
		}}
		answer, err := e.Search(context.Background(), caller, r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Sources = nil // a few, whatever is found
		text, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		if size := len(text); took < answering.Copies*(size-256) {
			t.Errorf("%+v: %d bytes of JSON in a room of %d", r, size, took)
		}
	}
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}
