package routes

import (
	"errors"
	"strconv"
)

// Pagination is which page of a list an answer has.
type Pagination struct {
	Page       int   `json:"page"`
	PerPage    int   `json:"per_page"`
	Total      int64 `json:"total"`
	TotalPages int64 `json:"total_pages"`
	HasNext    bool  `json:"has_next"`
	HasPrev    bool  `json:"has_prev"`
}

// PaginationOf is that of a page of so many things.
func PaginationOf(page, perPage int, total int64) Pagination {
	pages := (total + int64(perPage) - 1) / int64(perPage)
	return Pagination{Page: page, PerPage: perPage, Total: total, TotalPages: pages, HasNext: int64(page) < pages, HasPrev: page > 1}
}

// Within reads a number of a query and brings it into 1 to most, as the contract has it for pages: what is no number is as
// if it were absent.
func Within(text string, otherwise, most int) int {
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return otherwise
	}
	return int(min(max(value, 1), int64(most)))
}
