package measure

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/offtake-go/offtake/bench/peers"
)

func TestDialsHangUntilTheHoleIsFilled(t *testing.T) {
	d := DeadEnd{Sizes: peers.Sizes{InFlight: 2, Deadline: 200 * time.Millisecond}, Rate: 50, Lasts: 500 * time.Millisecond, Watch: time.Minute}
	bounded := peers.InTrouble()[1]
	if got, err := d.HungDials(bounded); err != nil || got.Hanging != 2 || got.Back == never {
		t.Errorf("HungDials(%s) = %+v, %v; want 2 dials to hang at once, and an answer later", bounded.Name, got, err)
	}
	if got, err := d.HungDials(stack(t, "net/http")); err != nil || got.Hanging <= 2 || got.Back == never {
		t.Errorf("HungDials(net/http) = %+v, %v; want a dial to hang for each call, and an answer later", got, err)
	}
}

func TestADeadFirstAddressIsDialed(t *testing.T) {
	knows := stack(t, "net/http")
	knows.Name = "one who knows the other address"
	plain := knows.New
	knows.New = func(base *http.Transport, w peers.Wrap, url string, s peers.Sizes) (*peers.Client, error) {
		base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, strings.Replace(address, "upstream.example", "127.0.0.1", 1))
		}
		return plain(base, w, url, s)
	}
	got, err := DeadAddresses([]peers.HTTP{stack(t, "net/http"), knows}, 4, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if got[0].Answered != 0 {
		t.Errorf("DeadAddresses(net/http) = %+v, want no answer within a second: half of the dialer's 30 s are for the first address", got[0])
	}
	if got[1].Answered != 4 {
		t.Errorf("DeadAddresses(%s) = %+v, want 4 answers", knows.Name, got[1])
	}
}
