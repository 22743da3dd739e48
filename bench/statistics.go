package main

import (
	"math"
	"slices"
)

// median is the middle of the values, or the mean of the two in the middle; NaN of none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// ratios divides what was measured in the same round: what disturbs a round disturbs both. Rounds that only one of
// them has are left out.
func ratios(over, under []float64) []float64 {
	both := make([]float64, min(len(over), len(under)))
	for i := range both {
		both[i] = over[i] / under[i]
	}
	return both
}

// differences is ratios for what adds up.
func differences(from, less []float64) []float64 {
	both := make([]float64, min(len(from), len(less)))
	for i := range both {
		both[i] = from[i] - less[i]
	}
	return both
}
