package admission

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/offtake-go/offtake"
)

// userError is an error that knows how it is to be answered.
type userError int

func (o userError) Error() string                { return "own" }
func (o userError) Answer() (int, time.Duration) { return int(o), 0 }

func response(status int, retryAfter string) error {
	resp := &http.Response{StatusCode: status, Header: http.Header{}}
	if retryAfter != "" {
		resp.Header.Set("Retry-After", retryAfter)
	}
	return fmt.Errorf("ledger: %w", NewResponseError(resp))
}

func TestAnErrorHasOneAnswer(t *testing.T) {
	for _, tt := range []struct {
		err        error
		status     int
		retryAfter time.Duration
	}{
		{nil, 200, 0},
		{&offtake.Error{Err: offtake.ErrBusy, RetryAfter: 1200 * time.Millisecond}, 429, 2 * time.Second},
		{offtake.ErrClosed, 503, time.Second},
		{response(429, "7"), 429, 7 * time.Second},
		{response(429, ""), 429, time.Second},
		{response(429, "86400"), 429, longestRetryAfter},
		{response(504, ""), 504, 0},
		{response(503, "7"), 502, 0},
		{response(404, ""), 502, 0},
		{context.Canceled, 499, 0},
		{context.DeadlineExceeded, 504, 0},
		{userError(http.StatusRequestEntityTooLarge), 413, 0},
		{userError(http.StatusBadRequest), 400, 0},
		{errors.New("broken"), 502, 0},
	} {
		status, retryAfter := Answer(tt.err)
		if status != tt.status || retryAfter != tt.retryAfter {
			t.Errorf("Answer(%v) = %d, %v, want %d, %v", tt.err, status, retryAfter, tt.status, tt.retryAfter)
		}
		if tt.err == nil {
			continue
		}
		w := httptest.NewRecorder()
		WriteError(w, tt.err)
		if want := fmt.Sprint(int(tt.retryAfter.Seconds())); w.Code != tt.status || tt.retryAfter > 0 && w.Header().Get("Retry-After") != want {
			t.Errorf("WriteError(%v) = %d with %v, want %d with Retry-After %s", tt.err, w.Code, w.Header(), tt.status, want)
		}
	}
}
