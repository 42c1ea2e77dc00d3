// Package browser has no code: its tests open the pages of sanflow in Chromium. They are
// skipped if there is none.
package browser
