package admission

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/offtake-go/offtake/capacity"
)

// The four kinds of writer that may be below.
type (
	plain  struct{ http.ResponseWriter }
	flush  struct{ plain }
	hijack struct{ plain }
	both   struct {
		plain
		flush
		hijack
	}
)

func (flush) Flush()                                        {}
func (hijack) Hijack() (net.Conn, *bufio.ReadWriter, error) { return nil, nil, http.ErrHijacked }
func (p both) Header() http.Header                          { return p.plain.Header() }
func (p both) Write(b []byte) (int, error)                  { return p.plain.Write(b) }
func (p both) WriteHeader(status int)                       { p.plain.WriteHeader(status) }

func TestTheWriterCanDoWhatTheOneBelowCanDo(t *testing.T) {
	p := plain{httptest.NewRecorder()}
	for _, w := range []http.ResponseWriter{p, flush{p}, hijack{p}, both{plain: p}} {
		got, _ := wrap(w)
		_, flushes := w.(http.Flusher)
		_, hijacks := w.(http.Hijacker)
		if _, ok := got.(http.Flusher); ok != flushes {
			t.Errorf("wrap(%T) flushes: %v, want %v", w, ok, flushes)
		}
		if _, ok := got.(http.Hijacker); ok != hijacks {
			t.Errorf("wrap(%T) hijacks: %v, want %v", w, ok, hijacks)
		}
		if u, ok := got.(interface{ Unwrap() http.ResponseWriter }); !ok || u.Unwrap() != w {
			t.Errorf("wrap(%T) does not unwrap to it", w)
		}
	}
}

func TestTheRealWritersKeepTheirAbilities(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			d := newDoor(t, capacity.Plan{InFlight: 1}, Options{})
			url, client := serve(t, protocol, d.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if _, ok := w.(http.Flusher); !ok {
					t.Error("the writer is no Flusher")
				}
				if _, ok := w.(io.ReaderFrom); !ok {
					t.Error("the writer is no ReaderFrom")
				}
				if _, ok := w.(http.Hijacker); ok != (protocol == "HTTP/1.1") {
					t.Errorf("the writer is a Hijacker: %v, want it for HTTP/1.1 alone", ok)
				}
				c := http.NewResponseController(w)
				if err := c.EnableFullDuplex(); err != nil {
					t.Errorf("EnableFullDuplex() = %v, want nil", err)
				}
				io.WriteString(w, "a")
				if err := c.Flush(); err != nil {
					t.Errorf("Flush() = %v, want nil", err)
				}
				w.(http.Flusher).Flush()
				w.(io.ReaderFrom).ReadFrom(strings.NewReader("b"))
			})))
			resp, err := client.Get(url)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if body, err := io.ReadAll(resp.Body); string(body) != "ab" || err != nil {
				t.Errorf("body = %q, %v, want ab", body, err)
			}
		})
	}
}

// readerFrom notes that a copy reached it.
type readerFrom struct {
	http.ResponseWriter
	copied bool
}

func (r *readerFrom) ReadFrom(from io.Reader) (int64, error) {
	r.copied = true
	return io.Copy(io.Discard, from)
}

// A file goes out by sendfile.
func TestACopyOfAFileReachesTheReaderFromBelow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	below := &readerFrom{ResponseWriter: httptest.NewRecorder()}
	patient(t).Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n, err := io.Copy(w, io.LimitReader(f, 3)); n != 3 || err != nil || !below.copied {
			t.Errorf("Copy() = %d, %v, reached %v, want 3, nil, true", n, err, below.copied)
		}
	})).ServeHTTP(below, httptest.NewRequest(http.MethodGet, "/", nil))
}

func TestTheStatusIsTheFirstFinalOne(t *testing.T) {
	for _, c := range []struct {
		write []int
		want  int
	}{
		{nil, 0}, {[]int{404}, 404}, {[]int{103, 201}, 201}, {[]int{200, 500}, 200}, {[]int{101}, 101},
	} {
		w, inner := wrap(discard{})
		for _, status := range c.write {
			w.WriteHeader(status)
		}
		if inner.place.Status != c.want {
			t.Errorf("status after %v = %d, want %d", c.write, inner.place.Status, c.want)
		}
	}
}

// discard is a writer to nowhere.
type discard struct{ header http.Header }

func (d discard) Header() http.Header       { return d.header }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteString(s string) (int, error) {
	return len(s), nil
}
func (discard) WriteHeader(int) {}

func TestPassingAllocatesOnceAndRefusingThreeTimesAtMost(t *testing.T) {
	d := newDoor(t, capacity.Plan{InFlight: 1, Queue: capacity.NoQueue}, Options{})
	h := d.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	r := httptest.NewRequest("GET", "/", nil)
	var w http.ResponseWriter = discard{make(http.Header)}
	if got := testing.AllocsPerRun(200, func() { h.ServeHTTP(w, r) }); got > 1 {
		t.Errorf("passing = %v allocs, want at most 1", got)
	}
	defer take(t, d).Release()
	if got := testing.AllocsPerRun(200, func() { h.ServeHTTP(w, r) }); got > 3 {
		t.Errorf("refusing = %v allocs, want at most 3", got)
	}
}

func BenchmarkPassing(b *testing.B) {
	d, err := New(capacity.Plan{InFlight: 1}, &Options{Name: b.Name()})
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	benchmark(b, d.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
}

func BenchmarkRefusing(b *testing.B) {
	d, err := New(capacity.Plan{InFlight: 1, Queue: capacity.NoQueue}, &Options{Name: b.Name()})
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	place, err := d.Acquire(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer place.Release()
	benchmark(b, d.Handler(http.NotFoundHandler()))
}

func benchmark(b *testing.B, h http.Handler) {
	r := httptest.NewRequest("GET", "/", nil)
	var w http.ResponseWriter = discard{make(http.Header)}
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(w, r)
	}
}
