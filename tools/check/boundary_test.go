package check

import "testing"

// TestRulesAtTheirBoundary holds each condition to the number where it turns: the
// first of each pair holds, the second does not.
func TestRulesAtTheirBoundary(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range []struct{ rule, holds, breaks string }{
		{"C01", `{"rate":120,"lat":1.2,"pods":6,"cap":24}`, `{"rate":120,"lat":1.2,"pods":6,"cap":23}`},
		{"C02", `{"rate":20,"lat":1.2,"pods":1,"cap":37,"target":0.01}`, `{"rate":20,"lat":1.2,"pods":1,"cap":36,"target":0.01}`},
		{"C03", `{"cap":25,"replicas":6,"surge":1,"term":1,"limit":200}`, `{"cap":25,"replicas":6,"surge":1,"term":2,"limit":200}`},
		{"C04", `{"rate":120,"lat":1.2,"replicas":6,"surge":1,"limit":168}`, `{"rate":120,"lat":1.2,"replicas":6,"surge":1,"limit":167}`},
		{"C05", `{"rate":120,"lat":1.2,"growth":2,"limit":288}`, `{"rate":120,"lat":1.2,"growth":2,"limit":287}`},
		{"C06", `{"cap":144,"rate":120,"degraded":1.2}`, `{"cap":143,"rate":120,"degraded":1.2}`},
		{"C07", `{"p50":0.3,"p99":0.8}`, `{"p50":0.3,"p99":0.9}`},
		{"C08", `{"rc":7,"lc":1,"cc":10,"rp":10,"lp":1,"cp":10}`, `{"rc":6.9,"lc":1,"cc":10,"rp":10,"lp":1,"cp":10}`},
		{"C09", `{"idle":34,"l":24}`, `{"idle":33,"l":24}`},
		{"C10", `{"conns":1,"limit":1}`, `{"conns":0,"limit":1}`},
		{"C11", `{"dials":376}`, `{"dials":377}`},
		{"C12", `{"l":200,"conns":2,"streams":100}`, `{"l":200.5,"conns":2,"streams":100}`},
		{"C13", `{"client":59.9,"server":60}`, `{"client":60,"server":60}`},
		{"C14", `{"q":73,"lat":1.2,"cap":10,"timeout":10,"rate":20}`, `{"q":74,"lat":1.2,"cap":10,"timeout":10,"rate":20}`},
		{"C15", `{"breaker":33,"l":24,"appcap":33}`, `{"breaker":32,"l":24,"appcap":33}`},
		{"T01", `{"inner":7.79,"outer":8,"oh":0.2}`, `{"inner":7.8,"outer":8,"oh":0.2}`},
		{"T02", `{"n":2,"per":3.85,"back":0.1,"oh":0.2,"outer":8}`, `{"n":2,"per":3.86,"back":0.1,"oh":0.2,"outer":8}`},
		{"T03", `{"t":[1]}`, `{"t":[1,0]}`},
		{"T04", `{"n":2,"per":4.99,"route":5}`, `{"n":2,"per":5,"route":5}`},
		{"T05", `{"per":1.2,"p99":1.2}`, `{"per":1.19,"p99":1.2}`},
		{"T06", `{"proxy":1.99,"app":2,"od":true}`, `{"proxy":2,"app":2,"od":true}`},
		{"T07", `{"plane":"envoy","need":15}`, `{"plane":"envoy","need":15.1}`},
		{"T08", `{"conn":1.99,"per":2}`, `{"conn":2,"per":2}`},
		{"R01", `{"a":[3]}`, `{"a":[2,2]}`},
		{"R02", `{"rate":120,"lat":1.2,"a":1.25,"cap":180}`, `{"rate":120,"lat":1.2,"a":1.25,"cap":179}`},
		{"R03", `{"busy":"RESOURCE_EXHAUSTED","on":"unavailable"}`, `{"busy":"UNAVAILABLE","on":"unavailable"}`},
		{"R04", `{"n":2,"idem":false,"on":"connect-failure"}`, `{"n":2,"idem":false,"on":"connect-failure,reset"}`},
		{"R05", `{"n":3,"maxr":23,"l":24}`, `{"n":3,"maxr":24,"l":24}`},
		{"R06", `{"proxies":6,"minc":4,"l":120,"pct":20}`, `{"proxies":6,"minc":4,"l":119,"pct":20}`},
		{"R07", `{"count":4,"proxies":6,"l":120}`, `{"count":4,"proxies":6,"l":119}`},
		{"R08", `{"total":4,"plane":"grpc","value":4}`, `{"total":6,"plane":"grpc","value":6}`},
		{"R09", `{"minor":28,"patch":6}`, `{"minor":28,"patch":5}`},
		{"R10", `{"per":0,"n":2,"on":"connect-failure"}`, `{"per":1,"n":2,"on":"connect-failure"}`},
		{"O01", `{"n":2,"m":50,"thr":50,"ver":"envoy>=1.28"}`, `{"n":3,"m":50,"thr":50,"ver":"envoy<=1.26"}`},
		{"O02", `{"n":24,"m":40,"thr":50,"u":3}`, `{"n":24,"m":40,"thr":50,"u":4}`},
		{"O03", `{"n":24,"m":99,"thr":0}`, `{"n":24,"m":100,"thr":0}`},
		{"O04", `{"n":24,"m":40,"util":0.625}`, `{"n":24,"m":40,"util":0.626}`},
		{"O05", `{"n":10,"m":10,"ver":"envoy>=1.28"}`, `{"n":9,"m":10,"ver":"envoy>=1.28"}`},
		{"O06", `{"n":24,"m":100,"thr":50,"b":6,"tb":20,"base":30,"iv":10,"counts":true}`, `{"n":24,"m":100,"thr":50,"b":6,"tb":19,"base":30,"iv":10,"counts":true}`},
		{"O07", `{"rate":35.9,"n":24,"proxies":4,"warm":8,"k":3,"code":503}`, `{"rate":36,"n":24,"proxies":4,"warm":8,"k":3,"code":503}`},
		{"O08", `{"base":30,"fault":10}`, `{"base":31,"fault":10}`},
		{"O09", `{"k":2}`, `{"k":1}`},
		{"O10", `{"k":9,"p":0.5,"r":17.1}`, `{"k":9,"p":0.5,"r":17}`},
		{"O11", `{"od":true,"code":"RESOURCE_EXHAUSTED"}`, `{"od":true,"code":"UNAVAILABLE"}`},
		{"O12", `{"codes":[]}`, `{"codes":[429]}`},
		{"O13", `{"gw":4,"x":5}`, `{"gw":5,"x":5}`},
		{"O14", `{"share":[0.5,0.5],"rate":800,"cap":[400,400]}`, `{"share":[0.51,0.49],"rate":800,"cap":[400,400]}`},
		{"O15", `{"n":5}`, `{"n":4}`},
		{"O16", `{"m":1}`, `{"m":0}`},
		{"O17", `{"f":["minHealthPercent"]}`, `{"f":["consecutiveErrors"]}`},
		{"O18", `{"istio_minor":24,"outlier":true,"minHealthPercent":50,"trafficDistribution":true}`, `{"istio_minor":25,"outlier":true,"minHealthPercent":50,"trafficDistribution":true}`},
		{"O19", `{"n":0,"split":false}`, `{"n":1,"split":false}`},
		{"K01", `{"warm":0,"gate":false}`, `{"warm":0.1,"gate":false}`},
		{"K02", `{"shared":false,"q":40,"lat":0.1,"w":4,"to":1}`, `{"shared":true,"q":1,"lat":0.1,"w":4,"to":1}`},
		{"K03", `{"ft":3,"per":10,"to":1,"start":21}`, `{"ft":3,"per":10,"to":1,"start":21.1}`},
		{"K04", `{"pre":10,"req":20,"grace":30}`, `{"pre":10,"req":20.1,"grace":30}`},
		{"K05", `{"pre":5,"prop":5}`, `{"pre":4.9,"prop":5}`},
		{"K06", `{"n":20,"util":0.75,"unav":5}`, `{"n":20,"util":0.76,"unav":5}`},
		{"K07", `{"n":24,"b":12,"tb":5.1,"iv":10}`, `{"n":24,"b":12,"tb":5,"iv":10}`},
		{"K08", `{"maxr":7,"surge":1,"cap":25,"limit":200}`, `{"maxr":8,"surge":1,"cap":25,"limit":200}`},
		{"K09", `{"r":9,"warm":8,"q":64,"w":8}`, `{"r":9.1,"warm":8,"q":64,"w":8}`},
		{"K10", `{"stated":[6],"runs":[6,6]}`, `{"stated":[6],"runs":[6,7]}`},
		{"M01", `{"th":3.5,"cliff":3.5}`, `{"th":3.6,"cliff":3.5}`},
		{"M02", `{"inc":["cluster"]}`, `{"inc":[".*outlier_detection.*"]}`},
		{"M03", `{"expr":"increase(x_ejections_enforced_total{a=\"b\"}[5m]) > 0"}`, `{"expr":"x_ejections_enforced_total{a=\"b\"} > 0"}`},
	} {
		seen[c.rule] = true
		r, ok := RuleOf(c.rule)
		if !ok {
			t.Errorf("there is no rule %s", c.rule)
			continue
		}
		for numbers, want := range map[string]bool{c.holds: true, c.breaks: false} {
			if v, err := r.Try([]byte(numbers)); err != nil || v.Holds != want {
				t.Errorf("%s %s = %+v, %v, want holds %v", c.rule, numbers, v, err, want)
			}
		}
	}
	if len(seen) != len(Rules()) {
		t.Errorf("%d rules have a boundary here, want all %d", len(seen), len(Rules()))
	}
}
