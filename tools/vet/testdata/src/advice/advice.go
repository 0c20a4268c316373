package advice

import "net/http"

const size = 50

func pools(n int) {
	_ = &http.Transport{MaxConnsPerHost: n, MaxIdleConns: 100} // want `OT203: .*` `OT204: MaxIdleConns is 100, but MaxIdleConnsPerHost stays 2` `OT207: MaxIdleConns is the number 100`
	_ = &http.Transport{}                                      // want `OT203: .*` `OT205: MaxConnsPerHost is 0, no limit`
	_ = &http.Transport{MaxConnsPerHost: size}                 // want `OT203: .*` `OT207: MaxConnsPerHost is the number 50`
}

func derived(n int) {
	_ = &http.Transport{MaxConnsPerHost: n, MaxIdleConns: n, MaxIdleConnsPerHost: n} // want `OT203: .*`
	t := &http.Transport{}                                                           // want `OT203: .*`
	t.MaxConnsPerHost = n
	t.MaxIdleConnsPerHost = n
	_ = &http.Transport{MaxConnsPerHost: n, MaxIdleConns: 2 * n} // want `OT203: .*`
}
