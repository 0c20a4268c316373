package grpcclient

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/offtake-go/offtake/capacity"
)

func TestTheLastErrorOfEachOutcomeIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := error(nil)
		u := &upstream{call: func(ctx context.Context, body []byte) ([]byte, error) {
			if errors.Is(answer, context.DeadlineExceeded) {
				<-ctx.Done()
			}
			return body, answer
		}}
		c := piped(t, capacity.Plan{InFlight: 1, Attempt: time.Second, Attempts: capacity.NoRetry}, nil, u)
		for _, answer = range []error{
			nil, status.Error(codes.NotFound, "no such order"), status.Error(codes.Internal, "first"),
			status.Error(codes.ResourceExhausted, "busy"), status.Error(codes.Internal, "at https://me:secret@db/secret?secret"),
			context.DeadlineExceeded,
		} {
			_ = ask(t.Context(), c) // what it ends with is asked for below
			<-time.After(time.Minute)
		}
		want := []struct{ outcome, text string }{
			{"timeout", "no answer within its attempt of 1s"}, {"INTERNAL", "at https://db/…"}, {"RESOURCE_EXHAUSTED", "busy"},
		}
		got := c.Failures()
		if len(got) != len(want) {
			t.Fatalf("Failures() = %v, want one of each of %v, the latest first", got, want)
		}
		for i, f := range got {
			if f.Outcome != want[i].outcome || !strings.Contains(f.Text, want[i].text) {
				t.Errorf("Failures()[%d] = %v, want %v", i, f, want[i])
			}
		}
		if got := time.Since(got[0].At); got != time.Minute {
			t.Errorf("time since the last failure = %v, want %v", got, time.Minute)
		}
	})
}

func TestTheErrorsOfDialsAndStreamsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, "passthrough:///upstream", capacity.Plan{InFlight: 1}, &Options{
			Dial: func(context.Context, string) (net.Conn, error) { return nil, errors.New("network is unreachable") },
		})
		if _, err := c.NewStream(t.Context(), watchDesc, methodWatch); err == nil {
			t.Fatal("NewStream() = nil, want an error")
		}
		got := c.Failures()
		if len(got) != 1 || got[0].Outcome != "connect" || !strings.Contains(got[0].Text, "network is unreachable") {
			t.Errorf("Failures() = %v, want the dial's", got)
		}
	})
}

func TestTheOldestConnectionHasItsAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := piped(t, capacity.Plan{InFlight: 2}, nil, &upstream{})
		if got := c.Stats().Oldest; got != 0 {
			t.Errorf("Stats().Oldest before the first = %v, want 0", got)
		}
		warm(t, c)
		<-time.After(time.Minute)
		if got := c.Stats().Oldest; got != time.Minute {
			t.Errorf("Stats().Oldest = %v, want %v", got, time.Minute)
		}
	})
}

func TestAConnectionWithAStreamOnItIsOneConnection(t *testing.T) {
	for policy, config := range map[string]string{"ours": "", "of the user's": roundRobin} {
		t.Run("policy "+policy, func(t *testing.T) {
			r := prometheus.NewRegistry()
			plan := capacity.Plan{InFlight: 4, Streams: 2} // 2 connections
			bubble(t, plan, &Options{Registerer: r, ServiceConfig: config}, &upstream{stream: silent}, func(t *testing.T, c *Conn) {
				warm(t, c)
				watchStream(t.Context(), t, c)
				for _, state := range []string{"active", "idle"} {
					if _, got := series(t, r, "offtake_client_connections", map[string]string{"state": state}); got != 1 {
						t.Errorf("connections that are %s = %v, want 1", state, got)
					}
				}
			})
		})
	}
}
