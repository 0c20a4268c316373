// Package debug serves one page that shows every upstream, door and readiness
// gate of a process, with its plan beside its live state.
//
// The page says first what is wrong, in the words of who has to act on it:
// "card-processor is mis-sized – queueing: needs 28 places, has 10". Trouble is of
// four kinds, broken, slow, mis-sized and busy, since what helps is different for
// each. The page is for a look at one process during an incident; the view of a
// whole service over days is the dashboards' business.
//
//	page := debug.Handler(snapshot)
//	mux.Handle("GET /debug/offtake", page) // outside the door: it must answer under load
//	go page.Run(ctx)                       // keeps ten minutes of history
//	srv.RegisterOnShutdown(page.Close)     // an open page must not hold up Shutdown
//
// # One address
//
// The same address answers in four forms, by the request's Accept: the page for
// a browser, application/json for a program, text/event-stream for the page's
// own updates, and plain text for everybody else, so that curl in a container
// shows something to read.
//
// # What it takes
//
// The package knows nothing of clients and doors. A [Source] hands it plain values
// (package registry has one that reads the process's metrics), counters since the
// start and gauges of the moment, and the page keeps what it needs to speak of the
// last minute and to draw the last ten. It is tempting to have a source return
// percentiles; but those can't be taken over another window, or added up, and
// every client has its histograms already.
//
// # What it gives away
//
// Names of upstreams and hosts, sizes, and the text of errors, cut to a length
// and with no more of an address than its host. It changes nothing: there
// is no request that does. Keep it off the public network all the same.
package debug
