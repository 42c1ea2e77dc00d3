// node read.mjs TOOL FILE: prints the rows of a file as JSON, one object per
// row, as one of three tools reads them.
import { readFileSync } from "node:fs";

const [tool, file] = process.argv.slice(2);

// plain turns vectors, big integers, and texts of digits, into arrays and numbers.
function plain(x) {
  if (typeof x === "bigint") return Number(x);
  if (typeof x === "string") return x === "" || Number.isNaN(Number(x)) ? x : Number(x);
  if (x === null || typeof x === "number") return x;
  return Array.from(x, plain);
}

const tools = {
  async arrow() {
    const { tableFromIPC } = await import("apache-arrow");
    const table = tableFromIPC(readFileSync(file));
    const rows = [];
    for (let i = 0; i < table.numRows; i++) {
      rows.push(Object.fromEntries(table.schema.fields.map((f) => [f.name, plain(table.getChild(f.name).get(i))])));
    }
    return rows;
  },
  async duckdb() {
    const { DuckDBInstance } = await import("@duckdb/node-api");
    const db = await (await DuckDBInstance.create(":memory:")).connect();
    const all = await db.runAndReadAll(`SELECT * FROM read_parquet('${file}')`);
    return all.getRowObjectsJson().map((row) => Object.fromEntries(Object.entries(row).map(([k, v]) => [k, plain(v)])));
  },
  async polars() {
    const { default: pl } = await import("nodejs-polars");
    const frame = file.endsWith(".parquet") ? pl.readParquet(file) : pl.readIPC(readFileSync(file));
    return JSON.parse(frame.writeJSON({ format: "json" }).toString());
  },
};

console.log(JSON.stringify(await tools[tool]()));
