package check

// Rules returns all rules, family by family: capacity, time, retries, outlier
// detection, Kubernetes, monitoring.
func Rules() []Rule {
	return []Rule{
		ruleC01(), ruleC02(), ruleC03(), ruleC04(), ruleC05(), ruleC06(), ruleC07(), ruleC08(),
		ruleC09(), ruleC10(), ruleC11(), ruleC12(), ruleC13(), ruleC14(), ruleC15(),
		ruleT01(), ruleT02(), ruleT03(), ruleT04(), ruleT05(), ruleT06(), ruleT07(), ruleT08(),
		ruleR01(), ruleR02(), ruleR03(), ruleR04(), ruleR05(), ruleR06(), ruleR07(), ruleR08(),
		ruleR09(), ruleR10(),
		ruleO01(), ruleO02(), ruleO03(), ruleO04(), ruleO05(), ruleO06(), ruleO07(), ruleO08(),
		ruleO09(), ruleO10(), ruleO11(), ruleO12(), ruleO13(), ruleO14(), ruleO15(), ruleO16(),
		ruleO17(), ruleO18(), ruleO19(),
		ruleK01(), ruleK02(), ruleK03(), ruleK04(), ruleK05(), ruleK06(), ruleK07(), ruleK08(),
		ruleK09(), ruleK10(),
		ruleM01(), ruleM02(), ruleM03(),
	}
}
