// Package browser has no code: its tests open the pages of sanflow in Chromium. They are
// skipped where there is none.
package browser
