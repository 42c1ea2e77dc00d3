package collection

// Best is what nn.Best is called on command lines.
const Best = "best"
